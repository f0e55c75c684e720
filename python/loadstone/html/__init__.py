"""Reports as pages that need nothing else."""

from loadstone.files import Kind

PAGE = Kind(
    "report of loadstone",
    rb'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    rb"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src",
)
