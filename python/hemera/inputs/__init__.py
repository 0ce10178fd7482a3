"""From callers' arrays, numbers, files and arguments of any type to the core's types."""
