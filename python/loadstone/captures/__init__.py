"""Captures of real traffic: tables of their connections, and what these say of the users."""
