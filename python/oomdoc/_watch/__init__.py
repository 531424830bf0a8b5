"""What `oomdoc.watch` does: nothing until an exception about memory ends the job, then one file of bounded size (docs/watch.md).

`hooks` decides when, `shortage` whether an exception is about memory, `report` what is written and in which order, one module each how a
part of it is found, and `file` how it is laid out. torch and its kin are used where the job has imported them, and never imported here.
"""
