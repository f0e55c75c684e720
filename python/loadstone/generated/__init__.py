"""Generated traffic: the packets at the edge of a CDN whose users are drawn from laws, and simulated."""
