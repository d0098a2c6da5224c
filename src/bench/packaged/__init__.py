"""Models that come in a package, where no hub can be reached: found, checked, converted into a folder."""
