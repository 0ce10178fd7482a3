"""The commands of the command line. Each module has `add_arguments(parser)` and `run(options) -> exit
status`, and its docstring's first paragraph is the command's summary."""
