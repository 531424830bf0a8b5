"""The parts of `oomdoc.watch`: nothing happens until an exception about memory ends the job; then one file of bounded size is written
(docs/watch.md).

`hooks` decides when to write, `shortage` whether an exception is about memory, `report` what is written in which order, and `file` the
layout; each other module finds one part of the content. torch and other libraries are used if the job has imported them, and never
imported here.
"""
