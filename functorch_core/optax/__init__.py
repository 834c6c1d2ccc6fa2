"""Gradient transformations with optax's names: optimizers for functional code.

    from functorch_core import optax                  as `import optax`
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = optimizer.init(params)
    updates, state = optimizer.update(grads, state, params)
    params = optax.apply_updates(params, updates)

Trees of arrays or of tensors. The optimizers that torch.optim has are made of the rules of its classes; with
PyTorch's parameters and formulas they are in `optax.pytorch`.
"""

from . import losses, perturbations, projections, pytorch, schedules, tree, tree_utils
from .base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    OptState,
    Params,
    ScalarOrSchedule,
    Schedule,
    TransformInitFn,
    TransformUpdateExtraArgsFn,
    TransformUpdateFn,
    Updates,
    apply_updates,
    global_norm,
    identity,
    incremental_update,
    init_empty_state,
    periodic_update,
    safe_increment,
    safe_norm,
    safe_root_mean_squares,
    scale_gradient,
    set_to_zero,
    stateless,
    stateless_with_tree_map,
    with_extra_args_support,
)
from .clipping import (
    adaptive_grad_clip,
    clip,
    clip_by_block_rms,
    clip_by_global_norm,
    per_example_global_norm_clip,
    per_example_layer_norm_clip,
)
from .combining import (
    ConditionallyMaskState,
    ConditionallyTransformState,
    MaskedNode,
    MaskedState,
    MultiTransformState,
    PartitionState,
    chain,
    conditionally_mask,
    conditionally_transform,
    flatten,
    freeze,
    masked,
    multi_transform,
    named_chain,
    partition,
)
from .factored import FactoredState, adafactor, scale_by_factored_rms
from .losses import *
from .monitoring import MonitorState, SnapshotState, measure_with_ema, monitor, selective_transform, snapshot
from .optimizers import *
from .quasi_newton import (
    ScaleByBacktrackingLinesearchState,
    ScaleByLBFGSState,
    lbfgs,
    scale_by_backtracking_linesearch,
    scale_by_lbfgs,
    value_and_grad_from_state,
)
from .rules import (
    ScaleByAdaDeltaState,
    ScaleByAdamState,
    ScaleByRmsState,
    ScaleByRpropState,
    ScaleByRssState,
    ScaleByRStdDevState,
    TraceState,
    scale_by_adadelta,
    scale_by_adam,
    scale_by_adamax,
    scale_by_radam,
    scale_by_rms,
    scale_by_rprop,
    scale_by_rss,
    scale_by_stddev,
    trace,
)
from .schedules import (
    constant_schedule,
    cosine_decay_schedule,
    cosine_onecycle_schedule,
    exponential_decay,
    join_schedules,
    linear_onecycle_schedule,
    linear_schedule,
    piecewise_constant_schedule,
    piecewise_interpolate_schedule,
    polynomial_schedule,
    sgdr_schedule,
    warmup_constant_schedule,
    warmup_cosine_decay_schedule,
    warmup_exponential_decay_schedule,
)
from .transforms import (
    AddNoiseState,
    ApplyEvery,
    EmaState,
    ScaleByAdanState,
    ScaleByAmsgradState,
    ScaleByLionState,
    ScaleByNovogradState,
    ScaleByOptimisticGradientState,
    ScaleByScheduleState,
    ScaleBySM3State,
    ZeroNansState,
    add_decayed_weights,
    add_noise,
    apply_every,
    bias_correction,
    centralize,
    ema,
    keep_params_nonnegative,
    normalize_by_update_norm,
    scale,
    scale_by_adan,
    scale_by_amsgrad,
    scale_by_belief,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_novograd,
    scale_by_optimistic_gradient,
    scale_by_param_block_norm,
    scale_by_param_block_rms,
    scale_by_polyak,
    scale_by_schedule,
    scale_by_sign,
    scale_by_sm3,
    scale_by_trust_ratio,
    scale_by_yogi,
    update_infinity_moment,
    update_moment,
    update_moment_per_elem_norm,
    zero_nans,
)
from .tree import map_params as tree_map_params
from .wrappers import (
    ApplyIfFiniteState,
    InjectHyperparamsState,
    LookaheadParams,
    LookaheadState,
    MultiSteps,
    MultiStepsState,
    apply_if_finite,
    inject_hyperparams,
    lookahead,
    skip_large_updates,
    skip_not_finite,
)

# Names of states that keep nothing, and of annotations.
AdaptiveGradClipState = AddDecayedWeightsState = ClipByGlobalNormState = ClipState = EmptyState
NonNegativeParamsState = ScaleByTrustRatioState = ScaleState = EmptyState
ScaleByBeliefState = ScaleByAdamState
WrappedSchedule = MaskOrFn = ShouldSkipUpdateFunction = Schedule
safe_int32_increment = safe_increment

from ..array.compose import missing_name as _missing_name  # noqa: E402

__getattr__ = _missing_name(
    "optax",
    {
        "contrib": "Its optimizers are not here; radam, lion, adan and the others of optax itself are.",
        "assignment": "scipy.optimize.linear_sum_assignment, called by fc.pure_callback.",
        "microbatching": "Use fc.scan over the parts of the batch.",
        "microbatch": "Use fc.scan over the parts of the batch, or optax.MultiSteps.",
        "second_order": "optax deprecates it: hvp is fc.jvp(fc.grad(f), (x,), (v,))[1].",
        "experimental": "It changes with every version of optax.",
        "inject_stateful_hyperparams": "optax deprecates it: use optax.inject_hyperparams.",
        "InjectStatefulHyperparamsState": "The state of optax.inject_hyperparams is InjectHyperparamsState.",
        "multi_normal": "Use fc.random.normal and fc.scipy.stats.norm.logpdf.",
        "optimistic_adam": "optax deprecates it: use optax.optimistic_adam_v2.",
        "scale_by_zoom_linesearch": "Use optax.scale_by_backtracking_linesearch.",
        "ScaleByZoomLinesearchState": "Use optax.scale_by_backtracking_linesearch, with its own state.",
        "ZoomLinesearchInfo": "Use optax.scale_by_backtracking_linesearch, which keeps the value.",
    },
)

from .linear_algebra import matrix_inverse_pth_root, nnls, power_iteration, scale_by_distance_over_gradients  # noqa: E402
from .sequences import ctc_loss, ctc_loss_with_forward_probs, ntxent  # noqa: E402
