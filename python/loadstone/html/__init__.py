"""Reports as pages that need nothing else."""

import logging

from loadstone.files import Kind

PAGE = Kind(
    "report of loadstone",
    rb'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    rb"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src",
)

# Where it keeps its cache of fonts is nothing that a user of this command wants to read.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
