"""Traces of connections that their ends noted with qlog, as rows of the tables of captures."""
