"""Gradient transformations with optax's names: optimizers for functional code.

    from functorch_core import optax                  as `import optax`
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = optimizer.init(params)
    updates, state = optimizer.update(grads, state, params)
    params = optax.apply_updates(params, updates)

Trees of arrays or of tensors. The optimizers that torch.optim has are made of the rules of its classes; with
PyTorch's parameters and formulas they are in `optax.pytorch`.
"""

from . import losses, pytorch, schedules
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
