"""Graph to graph: jvp, linearize, transpose, vjp, batch; and the primitives that hold graphs.

jvp, linearize, transpose, batch        the transforms, in that order of dependence
nested                                  what the primitives that hold graphs share
cond, scan, while_loop, associative     control flow (scan_dots: dots out of transposed scans)
custom, remat                           derivatives that users decide, what is kept for them
linear_map                              a linear map with a transpose of its own
collectives, callback                   vmap's named axes; leaving the program
"""
