"""functorch.compile: ahead-of-time graphs for PyTorch's compilers, which are not here: XLA compiles."""

from ..._missing import missing as _missing

NAMES = """aot_function aot_module aot_module_simplified compiled_function compiled_module default_decompositions
    default_partition draw_graph draw_graph_compile get_aot_compilation_context get_aot_graph_name
    get_graph_being_compiled make_boxed_compiler make_boxed_func memory_efficient_fusion
    min_cut_rematerialization_partition minifier nop print_compile ts_compile"""
globals().update({name: _missing(f"functorch.compile.{name}") for name in NAMES.split()})
