"""The papers' topologies as steps: a module is a program, its functions are called like vertices.

All data is made from a seed, the number of the source's task and the number of the record, so that
the same record comes again after a crash and nothing has to be downloaded.
"""
