"The command line"
