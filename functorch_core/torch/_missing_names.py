"""The names in the index of PyTorch's documentation, module by module (without torch.nn, optim,
linalg, fft, special, autograd, func, utils.data): `_missing` makes those that nothing defines."""

NAMES = """
: BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage
    DoubleStorage Event FloatStorage Generator HalfStorage IntStorage LongStorage QInt32Storage
    QInt8Storage QUInt2x4Storage QUInt4x2Storage QUInt8Storage ShortStorage Size Stream SymBool
    SymFloat SymInt Tag Tensor TypedStorage UntypedStorage abs absolute acos acosh add addbmm
    addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax angle any arange
    arccos arccosh arcsin arcsinh arctan arctan2 arctanh are_deterministic_algorithms_enabled
    argmax argmin argsort argwhere as_strided as_tensor asarray asin asinh atan atan2 atanh
    atleast_1d atleast_2d atleast_3d autocast baddbmm bartlett_window bernoulli bincount
    bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    blackman_window block_diag bmm broadcast_shapes broadcast_tensors broadcast_to bucketize
    can_cast cartesian_prod cat cdist ceil chain_matmul cholesky cholesky_inverse cholesky_solve
    chunk clamp clip clone column_stack combinations compile compiled_with_cxx11_abi complex
    concat concatenate cond conj conj_physical copysign corrcoef cos cosh count_nonzero cov cross
    cummax cummin cumprod cumsum cumulative_trapezoid deg2rad dequantize det device diag
    diag_embed diagflat diagonal diagonal_scatter diff digamma dist div divide dot dsplit dstack
    dtype einsum empty empty_like empty_strided enable_grad eq equal erf erfc erfinv exp exp2
    expm1 eye fake_quantize_per_channel_affine fake_quantize_per_tensor_affine finfo fix flatten
    flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp from_dlpack
    from_file from_numpy frombuffer full full_like gather gcd ge geqrf ger get_default_device
    get_default_dtype get_deterministic_debug_mode get_device_module get_float32_matmul_precision
    get_num_interop_threads get_num_threads get_rng_state gradient greater greater_equal gt
    hamming_window hann_window heaviside histc histogram histogramdd hsplit hspmm hstack hypot i0
    igamma igammac iinfo imag index_add index_copy index_reduce index_select initial_seed inner
    inverse is_complex is_conj is_deterministic_algorithms_warn_only_enabled is_floating_point
    is_grad_enabled is_inference_mode_enabled is_nonzero is_storage is_tensor
    is_warn_always_enabled isclose isfinite isin isinf isnan isneginf isposinf isreal istft
    kaiser_window kron kthvalue layout lcm ldexp le lerp less less_equal lgamma linspace load
    lobpcg log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not
    logical_or logical_xor logit logspace logsumexp lt lu lu_solve lu_unpack manual_seed
    masked_select matmul matrix_exp matrix_power max maximum mean median memory_format meshgrid
    min minimum mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num
    nanmean nanmedian nanquantile nansum narrow narrow_copy ne neg negative nextafter no_grad
    nonzero norm normal not_equal numel ones ones_like orgqr ormqr outer pca_lowrank permute
    pinverse poisson polar polygamma positive pow prod promote_types qr quantile
    quantize_per_channel quantize_per_tensor quantized_batch_norm quantized_max_pool1d
    quantized_max_pool2d rad2deg rand rand_like randint randint_like randn randn_like randperm
    range ravel real reciprocal remainder renorm repeat_interleave reshape resolve_conj
    resolve_neg result_type roll rot90 round row_stack rsqrt save scatter scatter_add
    scatter_reduce searchsorted seed select select_scatter set_default_device set_default_dtype
    set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision
    set_flush_denormal set_num_interop_threads set_num_threads set_printoptions set_rng_state
    set_warn_always sgn sigmoid sign signbit sin sinc sinh slice_scatter slogdet smm softmax sort
    sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor
    sparse_csc_tensor sparse_csr_tensor split sqrt square squeeze sspaddmm stack std std_mean stft
    sub subtract sum svd svd_lowrank swapaxes swapdims sym_float sym_fresh_size sym_int sym_ite
    sym_max sym_min sym_not sym_sum t take take_along_dim tan tanh tensor tensor_split tensordot
    tile topk trace transpose trapezoid trapz triangular_solve tril tril_indices triu triu_indices
    true_divide trunc unbind unflatten unique unique_consecutive unravel_index unsqueeze
    use_deterministic_algorithms vander var var_mean vdot view_as_complex view_as_real vmap vsplit
    vstack where xlogy zeros zeros_like
__config__: parallel_info show
__future__: get_overwrite_module_params_on_conversion get_swap_module_params_on_conversion
    set_overwrite_module_params_on_conversion set_swap_module_params_on_conversion
accelerator: current_accelerator current_device_idx current_device_index current_stream
    device_count is_available set_device_idx set_device_index set_stream synchronize
amp: custom_bwd custom_fwd
amp.autocast_mode: is_autocast_available
amp.grad_scaler:
ao:
ao.nn:
ao.nn.intrinsic: BNReLU2d BNReLU3d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d
    ConvBnReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU
ao.nn.intrinsic.modules:
ao.nn.intrinsic.modules.fused:
ao.nn.intrinsic.qat: ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d ConvReLU2d
    ConvReLU3d LinearReLU freeze_bn_stats update_bn_stats
ao.nn.intrinsic.qat.modules:
ao.nn.intrinsic.qat.modules.conv_fused:
ao.nn.intrinsic.qat.modules.linear_fused:
ao.nn.intrinsic.qat.modules.linear_relu:
ao.nn.intrinsic.quantized: BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU
ao.nn.intrinsic.quantized.dynamic: LinearReLU
ao.nn.intrinsic.quantized.dynamic.modules:
ao.nn.intrinsic.quantized.dynamic.modules.linear_relu:
ao.nn.intrinsic.quantized.modules:
ao.nn.intrinsic.quantized.modules.bn_relu:
ao.nn.intrinsic.quantized.modules.conv_add:
ao.nn.intrinsic.quantized.modules.conv_relu:
ao.nn.intrinsic.quantized.modules.linear_relu:
ao.nn.qat: Conv2d Conv3d Linear
ao.nn.qat.dynamic: Linear
ao.nn.qat.dynamic.modules:
ao.nn.qat.dynamic.modules.linear:
ao.nn.qat.modules:
ao.nn.qat.modules.conv:
ao.nn.qat.modules.embedding_ops:
ao.nn.qat.modules.linear:
ao.nn.quantizable: LSTM MultiheadAttention
ao.nn.quantizable.modules:
ao.nn.quantizable.modules.activation:
ao.nn.quantizable.modules.rnn:
ao.nn.quantized: BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    ConvTranspose3d ELU Embedding EmbeddingBag FXFloatFunctional FloatFunctional GroupNorm
    Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm LeakyReLU Linear QFunctional
    ReLU6 Sigmoid
ao.nn.quantized.dynamic: GRU GRUCell LSTM LSTMCell Linear RNNCell
ao.nn.quantized.dynamic.modules:
ao.nn.quantized.dynamic.modules.conv:
ao.nn.quantized.dynamic.modules.linear:
ao.nn.quantized.dynamic.modules.rnn:
ao.nn.quantized.functional: adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d avg_pool3d celu
    clamp conv1d conv2d conv3d elu hardsigmoid hardswish hardtanh interpolate leaky_relu linear
    max_pool1d max_pool2d threshold upsample upsample_bilinear upsample_nearest
ao.nn.quantized.modules:
ao.nn.quantized.modules.activation:
ao.nn.quantized.modules.batchnorm:
ao.nn.quantized.modules.conv:
ao.nn.quantized.modules.dropout:
ao.nn.quantized.modules.embedding_ops:
ao.nn.quantized.modules.functional_modules:
ao.nn.quantized.modules.linear:
ao.nn.quantized.modules.normalization:
ao.nn.quantized.modules.rnn:
ao.nn.quantized.modules.utils:
ao.nn.quantized.reference:
ao.nn.quantized.reference.modules:
ao.nn.quantized.reference.modules.conv:
ao.nn.quantized.reference.modules.linear:
ao.nn.quantized.reference.modules.rnn:
ao.nn.quantized.reference.modules.sparse:
ao.nn.quantized.reference.modules.utils:
ao.nn.sparse:
ao.nn.sparse.quantized:
ao.nn.sparse.quantized.dynamic:
ao.nn.sparse.quantized.dynamic.linear:
ao.nn.sparse.quantized.linear:
ao.nn.sparse.quantized.utils:
ao.ns:
ao.ns.fx:
ao.ns.fx.graph_matcher:
ao.ns.fx.graph_passes:
ao.ns.fx.mappings:
ao.ns.fx.n_shadows_utils:
ao.ns.fx.ns_types:
ao.ns.fx.pattern_utils:
ao.ns.fx.qconfig_multi_mapping:
ao.ns.fx.utils: compute_cosine_similarity compute_normalized_l2_error compute_sqnr
ao.ns.fx.weight_utils:
ao.pruning:
ao.pruning.scheduler:
ao.pruning.scheduler.base_scheduler:
ao.pruning.scheduler.cubic_scheduler:
ao.pruning.scheduler.lambda_scheduler:
ao.pruning.sparsifier:
ao.pruning.sparsifier.base_sparsifier:
ao.pruning.sparsifier.nearly_diagonal_sparsifier:
ao.pruning.sparsifier.utils:
ao.pruning.sparsifier.weight_norm_sparsifier:
ao.quantization: AffineQuantizedObserverBase DeQuantStub FakeQuantize FakeQuantizeBase
    FixedQParamsFakeQuantize FixedQParamsObserver FusedMovingAvgObsFakeQuantize Granularity
    HistogramObserver MappingType MatchAllNode MinMaxObserver MovingAverageMinMaxObserver
    MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase ObserverOrFakeQuantize Pattern
    PerAxis PerBlock PerChannelMinMaxObserver PerGroup PerRow PerTensor PerToken
    PlaceholderObserver QConfig QConfigAny QConfigDynamic QConfigMapping QuantStub QuantType
    QuantWrapper RecordingObserver ReuseInputObserver TorchAODType UniformQuantizationObserverBase
    ZeroPointDomain add_quant_dequant convert convert_dynamic_jit convert_jit
    default_affine_fixed_qparams_fake_quant default_affine_fixed_qparams_observer
    default_debug_observer default_dynamic_fake_quant default_dynamic_quant_observer
    default_embedding_fake_quant default_embedding_fake_quant_4bit default_eval_fn
    default_fake_quant default_fixed_qparams_range_0to1_fake_quant
    default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_fake_quant
    default_fixed_qparams_range_neg1to1_observer default_float_qparams_observer
    default_float_qparams_observer_4bit default_fused_act_fake_quant
    default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant
    default_histogram_fake_quant default_histogram_observer default_observer
    default_per_channel_weight_fake_quant default_per_channel_weight_observer
    default_placeholder_observer default_reuse_input_observer
    default_symmetric_fixed_qparams_fake_quant default_symmetric_fixed_qparams_observer
    default_weight_fake_quant default_weight_observer disable_fake_quant disable_observer
    enable_fake_quant enable_observer fuse_conv_bn fuse_conv_bn_jit fuse_conv_bn_relu
    fuse_convtranspose_bn fuse_linear_bn fuse_modules fuse_modules_qat
    fused_per_channel_wt_fake_quant_range_neg_127_to_127 fused_wt_fake_quant_range_neg_127_to_127
    get_block_size get_combined_dict get_default_compare_output_module_list
    get_default_custom_config_dict get_default_dynamic_quant_module_mappings
    get_default_dynamic_sparse_quant_module_mappings
    get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings
    get_default_qat_qconfig get_default_qat_qconfig_dict get_default_qat_qconfig_mapping
    get_default_qconfig get_default_qconfig_dict get_default_qconfig_mapping
    get_default_qconfig_propagation_list get_default_static_quant_module_mappings
    get_default_static_quant_reference_module_mappings
    get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class
    get_embedding_qat_module_mappings get_embedding_static_quant_module_mappings get_fuser_method
    get_fuser_method_new get_observer_state_dict get_quantized_operator
    get_static_quant_module_class load_observer_state_dict no_observer_set
    per_channel_weight_observer_range_neg_127_to_127 prepare prepare_dynamic_jit prepare_jit
    prepare_qat propagate_qconfig_ qconfig_equals quantize quantize_dynamic quantize_dynamic_jit
    quantize_jit quantize_qat script_qconfig script_qconfig_dict swap_module
    weight_observer_range_neg_127_to_127
ao.quantization.backend_config: BackendConfig BackendPatternConfig DTypeConfig
    DTypeWithConstraints ObservationType
ao.quantization.backend_config.backend_config:
ao.quantization.backend_config.executorch:
ao.quantization.backend_config.fbgemm:
ao.quantization.backend_config.native:
ao.quantization.backend_config.observation_type:
ao.quantization.backend_config.onednn:
ao.quantization.backend_config.qnnpack:
ao.quantization.backend_config.tensorrt:
ao.quantization.backend_config.utils:
ao.quantization.backend_config.x86:
ao.quantization.fake_quantize: FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize
    FusedMovingAvgObsFakeQuantize default_fake_quant default_fused_act_fake_quant
    default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant
    default_histogram_fake_quant default_per_channel_weight_fake_quant default_weight_fake_quant
    disable_fake_quant disable_observer enable_fake_quant enable_observer
ao.quantization.fuse_modules: fuse_modules
ao.quantization.fuser_method_mappings:
ao.quantization.fx:
ao.quantization.fx.convert:
ao.quantization.fx.custom_config: ConvertCustomConfig FuseCustomConfig PrepareCustomConfig
    StandaloneModuleConfigEntry
ao.quantization.fx.fuse:
ao.quantization.fx.fuse_handler:
ao.quantization.fx.graph_module:
ao.quantization.fx.lower_to_fbgemm:
ao.quantization.fx.lower_to_qnnpack:
ao.quantization.fx.lstm_utils:
ao.quantization.fx.match_utils:
ao.quantization.fx.pattern_utils:
ao.quantization.fx.prepare:
ao.quantization.fx.qconfig_mapping_utils:
ao.quantization.fx.quantize_handler:
ao.quantization.fx.tracer:
ao.quantization.fx.utils:
ao.quantization.observer: AffineQuantizedObserverBase Granularity HistogramObserver MappingType
    MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver
    ObserverBase PerAxis PerBlock PerChannelMinMaxObserver PerGroup PerRow PerTensor PerToken
    PlaceholderObserver RecordingObserver TorchAODType ZeroPointDomain default_debug_observer
    default_dynamic_quant_observer default_float_qparams_observer default_histogram_observer
    default_observer default_per_channel_weight_observer default_placeholder_observer
    default_weight_observer get_block_size get_observer_state_dict load_observer_state_dict
ao.quantization.pt2e:
ao.quantization.pt2e.duplicate_dq_pass:
ao.quantization.pt2e.export_utils:
ao.quantization.pt2e.graph_utils:
ao.quantization.pt2e.port_metadata_pass:
ao.quantization.pt2e.prepare:
ao.quantization.pt2e.qat_utils:
ao.quantization.pt2e.representation:
ao.quantization.pt2e.representation.rewrite:
ao.quantization.pt2e.utils:
ao.quantization.qconfig: QConfig default_activation_only_qconfig default_debug_qconfig
    default_dynamic_qconfig default_per_channel_qconfig default_qat_qconfig default_qat_qconfig_v2
    default_qconfig default_weight_only_qconfig float16_dynamic_qconfig float16_static_qconfig
    float_qparams_weight_only_qconfig per_channel_dynamic_qconfig
ao.quantization.qconfig_mapping: QConfigMapping get_default_qat_qconfig_mapping
    get_default_qconfig_mapping
ao.quantization.quant_type:
ao.quantization.quantization_mappings:
ao.quantization.quantize_fx: convert_fx fuse_fx prepare_fx prepare_qat_fx
ao.quantization.quantize_jit:
ao.quantization.quantize_pt2e:
ao.quantization.quantizer:
ao.quantization.quantizer.composable_quantizer:
ao.quantization.quantizer.embedding_quantizer:
ao.quantization.quantizer.quantizer:
ao.quantization.quantizer.utils:
ao.quantization.quantizer.x86_inductor_quantizer:
ao.quantization.quantizer.xnnpack_quantizer:
ao.quantization.quantizer.xnnpack_quantizer_utils:
ao.quantization.quantizer.xpu_inductor_quantizer:
ao.quantization.stubs:
ao.quantization.utils:
backends:
backends.cpu: get_cpu_capability
backends.cuda: SDPAParams allow_fp16_bf16_reduction_math_sdp can_use_cudnn_attention
    can_use_efficient_attention can_use_flash_attention cudnn_sdp_enabled cufft_plan_cache
    enable_cudnn_sdp enable_flash_sdp enable_math_sdp enable_mem_efficient_sdp flash_sdp_enabled
    fp16_bf16_reduction_math_sdp_allowed is_built is_flash_attention_available math_sdp_enabled
    mem_efficient_sdp_enabled preferred_blas_library preferred_linalg_library
    preferred_rocm_fa_library sdp_kernel
backends.cudnn: allow_tf32 benchmark benchmark_limit deterministic enabled is_available version
backends.cudnn.rnn:
backends.cusparselt: is_available version
backends.kleidiai:
backends.mha: get_fastpath_enabled set_fastpath_enabled
backends.mkl: is_available verbose
backends.mkldnn: is_available verbose
backends.mps: is_available is_built
backends.nnpack: flags is_available set_flags
backends.openmp: is_available
backends.opt_einsum: enabled get_opt_einsum is_available strategy
backends.quantized:
backends.xeon:
backends.xeon.run_cpu:
backends.xnnpack:
compiler: allow_in_graph assume_constant_result compile cudagraph_mark_step_begin disable
    is_compiling is_dynamo_compiling is_exporting list_backends reset set_stance
    substitute_in_graph
compiler.config: job_id
contrib:
cpu: Stream StreamContext current_device current_stream device_count is_available set_device
    stream synchronize
cpu.amp: GradScaler autocast
cpu.amp.autocast_mode:
cpu.amp.grad_scaler:
cuda: CUDAGraph CUDAPluggableAllocator Event ExternalStream MemPool Stream StreamContext
    caching_allocator_alloc caching_allocator_delete can_device_access_peer
    change_current_allocator clock_rate cudart current_blas_handle current_device current_stream
    default_stream device device_count device_memory_used device_of empty_cache
    get_allocator_backend get_arch_list get_device_capability get_device_name
    get_device_properties get_gencode_flags get_per_process_memory_fraction get_rng_state
    get_rng_state_all get_stream_from_external get_sync_debug_mode graph graph_pool_handle
    host_memory_stats init initial_seed ipc_collect is_available is_current_stream_capturing
    is_initialized is_tf32_supported list_gpu_processes make_graphed_callables manual_seed
    manual_seed_all max_memory_allocated max_memory_cached max_memory_reserved mem_get_info
    memory_allocated memory_cached memory_reserved memory_snapshot memory_stats memory_summary
    memory_usage power_draw reset_max_memory_allocated reset_max_memory_cached
    reset_peak_host_memory_stats reset_peak_memory_stats seed seed_all set_device
    set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream set_sync_debug_mode
    stream synchronize temperature use_mem_pool utilization
cuda.amp: GradScaler autocast custom_bwd custom_fwd
cuda.amp.autocast_mode:
cuda.amp.common:
cuda.amp.grad_scaler:
cuda.comm: broadcast broadcast_coalesced gather reduce_add scatter
cuda.error:
cuda.gds: GdsFile gds_deregister_buffer gds_register_buffer
cuda.graphs:
cuda.jiterator:
cuda.memory: caching_allocator_enable
cuda.nccl:
cuda.nvtx: mark range range_pop range_push
cuda.profiler:
cuda.random:
cuda.sparse:
cuda.streams:
cuda.tunable: enable get_filename get_max_tuning_duration get_max_tuning_iterations get_results
    get_rotating_buffer_size get_validators is_enabled mgpu_tune_gemm_in_file read_file
    record_untuned_enable record_untuned_is_enabled set_filename set_max_tuning_duration
    set_max_tuning_iterations set_rotating_buffer_size tune_gemm_in_file tuning_enable
    tuning_is_enabled
distributed: AllToAllOptions AllreduceCoalescedOptions AllreduceOptions Backend BackendConfig
    BarrierOptions BroadcastOptions BuiltinCommHookType DebugLevel DeviceMesh DistBackendError
    DistError DistNetworkError DistStoreError FileStore GatherOptions GradBucket GroupMember
    HashStore Logger P2POp PrefixStore ProcessGroup ProcessGroupGloo QueueEmptyError ReduceOp
    ReduceOptions ReduceScatterOptions Reducer ScatterOptions Store TCPStore Work all_gather
    all_gather_coalesced all_gather_into_tensor all_gather_object all_gather_single all_reduce
    all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv breakpoint
    broadcast broadcast_object_list destroy_process_group gather gather_object get_backend
    get_backend_config get_default_backend_for_device get_global_rank get_group_rank
    get_node_local_rank get_pg_count get_process_group_ranks get_rank get_world_size group
    init_device_mesh init_process_group irecv is_available is_backend_available is_gloo_available
    is_initialized is_mpi_available is_nccl_available is_torchelastic_launched is_ucc_available
    is_xccl_available isend monitored_barrier new_group new_subgroups new_subgroups_by_enumeration
    record_comm recv recv_object_list reduce reduce_op reduce_scatter reduce_scatter_single
    reduce_scatter_tensor register_rendezvous_handler rendezvous scatter scatter_object_list send
    send_object_list shrink_group split_group supports_complex
distributed.algorithms: Join JoinHook Joinable
distributed.algorithms.ddp_comm_hooks:
distributed.algorithms.ddp_comm_hooks.ddp_zero_hook:
distributed.algorithms.ddp_comm_hooks.debugging_hooks: noop_hook
distributed.algorithms.ddp_comm_hooks.default_hooks: allreduce_hook bf16_compress_hook
    bf16_compress_wrapper fp16_compress_hook fp16_compress_wrapper
distributed.algorithms.ddp_comm_hooks.mixed_precision_hooks:
distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks:
distributed.algorithms.ddp_comm_hooks.post_localSGD_hook:
distributed.algorithms.ddp_comm_hooks.powerSGD_hook: PowerSGDState batched_powerSGD_hook
    powerSGD_hook
distributed.algorithms.ddp_comm_hooks.quantization_hooks:
distributed.algorithms.join:
distributed.algorithms.model_averaging:
distributed.algorithms.model_averaging.averagers:
distributed.algorithms.model_averaging.hierarchical_model_averager:
distributed.algorithms.model_averaging.utils:
distributed.argparse_util:
distributed.autograd: backward context get_gradients
distributed.c10d_logger:
distributed.checkpoint: DefaultLoadPlanner DefaultSavePlanner FileSystemReader FileSystemWriter
    LoadPlan LoadPlanner ReadItem SavePlan SavePlanner StorageReader StorageWriter
distributed.checkpoint.api:
distributed.checkpoint.default_planner:
distributed.checkpoint.filesystem:
distributed.checkpoint.format_utils: BroadcastingTorchSaveReader DynamicMetaLoadPlanner
    dcp_to_torch_save torch_save_to_dcp
distributed.checkpoint.logger:
distributed.checkpoint.logging_handlers:
distributed.checkpoint.metadata:
distributed.checkpoint.optimizer:
distributed.checkpoint.planner: WriteItem
distributed.checkpoint.planner_helpers:
distributed.checkpoint.resharding:
distributed.checkpoint.staging: AsyncStager BlockingAsyncStager
distributed.checkpoint.state_dict: StateDictOptions get_model_state_dict get_optimizer_state_dict
    get_state_dict set_model_state_dict set_optimizer_state_dict set_state_dict
distributed.checkpoint.state_dict_loader: load load_state_dict
distributed.checkpoint.state_dict_saver: AsyncCheckpointerType async_save save save_state_dict
distributed.checkpoint.stateful: Stateful
distributed.checkpoint.storage:
distributed.checkpoint.utils:
distributed.collective_utils:
distributed.constants:
distributed.device_mesh: DeviceMesh init_device_mesh
distributed.distributed_c10d: is_xccl_available
distributed.elastic:
distributed.elastic.agent:
distributed.elastic.agent.server: ElasticAgent SimpleElasticAgent Worker WorkerGroup WorkerSpec
    WorkerState
distributed.elastic.agent.server.api: RunResult
distributed.elastic.agent.server.health_check_server: HealthCheckServer create_healthcheck_server
distributed.elastic.agent.server.local_elastic_agent: LocalElasticAgent
distributed.elastic.control_plane: worker_main
distributed.elastic.events: construct_and_record_rdzv_event get_logging_handler record
distributed.elastic.events.api: Event EventMetadataValue EventSource
distributed.elastic.events.handlers:
distributed.elastic.metrics: configure prof put_metric
distributed.elastic.metrics.api: ConsoleMetricHandler MetricHandler NullMetricHandler
distributed.elastic.multiprocessing: start_processes
distributed.elastic.multiprocessing.api: DefaultLogsSpecs LogsDest LogsSpecs MultiprocessContext
    PContext RunProcsResult SubprocessContext
distributed.elastic.multiprocessing.errors: ChildFailedError ErrorHandler ProcessFailure record
distributed.elastic.multiprocessing.errors.error_handler:
distributed.elastic.multiprocessing.errors.handlers:
distributed.elastic.multiprocessing.redirects:
distributed.elastic.multiprocessing.subprocess_handler:
distributed.elastic.multiprocessing.subprocess_handler.handlers: get_subprocess_handler
distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler: SubprocessHandler
distributed.elastic.multiprocessing.tail_log:
distributed.elastic.rendezvous: RendezvousHandler RendezvousHandlerRegistry RendezvousInfo
    RendezvousParameters
distributed.elastic.rendezvous.api: RendezvousClosedError RendezvousConnectionError
    RendezvousError RendezvousGracefulExitError RendezvousStateError RendezvousStoreInfo
    RendezvousTimeoutError
distributed.elastic.rendezvous.c10d_rendezvous_backend: C10dRendezvousBackend create_backend
distributed.elastic.rendezvous.dynamic_rendezvous: DynamicRendezvousHandler RendezvousBackend
    RendezvousTimeout create_handler
distributed.elastic.rendezvous.etcd_rendezvous: EtcdRendezvousHandler
distributed.elastic.rendezvous.etcd_rendezvous_backend:
distributed.elastic.rendezvous.etcd_server: EtcdServer
distributed.elastic.rendezvous.etcd_store: EtcdStore
distributed.elastic.rendezvous.registry:
distributed.elastic.rendezvous.static_tcp_rendezvous:
distributed.elastic.rendezvous.utils:
distributed.elastic.timer: FileTimerClient FileTimerServer LocalTimerClient LocalTimerServer
    TimerClient TimerRequest TimerServer configure expires
distributed.elastic.timer.api:
distributed.elastic.timer.debug_info_logging: log_debug_info_for_expired_timers
distributed.elastic.timer.file_based_local_timer:
distributed.elastic.timer.local_timer:
distributed.elastic.utils:
distributed.elastic.utils.api:
distributed.elastic.utils.data:
distributed.elastic.utils.data.cycling_iterator:
distributed.elastic.utils.data.elastic_distributed_sampler:
distributed.elastic.utils.distributed:
distributed.elastic.utils.log_level:
distributed.elastic.utils.logging:
distributed.elastic.utils.store:
distributed.fsdp: BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig
    FullStateDictConfig FullyShardedDataParallel LocalOptimStateDictConfig LocalStateDictConfig
    MixedPrecision MixedPrecisionPolicy OffloadPolicy OptimStateDictConfig
    ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictConfig
    StateDictSettings UnshardHandle fully_shard register_fsdp_forward_method
distributed.fsdp.api:
distributed.fsdp.fully_sharded_data_parallel:
distributed.fsdp.sharded_grad_scaler:
distributed.fsdp.wrap:
distributed.launch:
distributed.launcher:
distributed.launcher.api:
distributed.logging_handlers:
distributed.nn:
distributed.nn.api:
distributed.nn.api.remote_module: RemoteModule
distributed.nn.functional:
distributed.nn.jit:
distributed.nn.jit.instantiator:
distributed.nn.jit.templates:
distributed.nn.jit.templates.remote_module_template:
distributed.optim: DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer
distributed.optim.apply_optimizer_in_backward:
distributed.optim.functional_adadelta:
distributed.optim.functional_adagrad:
distributed.optim.functional_adam:
distributed.optim.functional_adamax:
distributed.optim.functional_adamw:
distributed.optim.functional_rmsprop:
distributed.optim.functional_rprop:
distributed.optim.functional_sgd:
distributed.optim.named_optimizer:
distributed.optim.optimizer:
distributed.optim.post_localSGD_optimizer:
distributed.optim.utils:
distributed.optim.zero_redundancy_optimizer:
distributed.pipelining: Pipe SplitPoint pipe_split pipeline
distributed.pipelining.microbatch: TensorChunkSpec merge_chunks split_args_kwargs_into_chunks
distributed.pipelining.schedules: PipelineScheduleMulti PipelineScheduleSingle Schedule1F1B
    ScheduleGPipe ScheduleInterleaved1F1B ScheduleInterleavedZeroBubble ScheduleLoopedBFS
    ScheduleZBVZeroBubble
distributed.pipelining.stage: PipelineStage build_stage
distributed.remote_device:
distributed.rendezvous:
distributed.rpc: BackendType PyRRef RpcBackendOptions TensorPipeRpcBackendOptions WorkerInfo
    get_worker_info init_rpc remote rpc_async rpc_sync shutdown
distributed.rpc.api:
distributed.rpc.backend_registry:
distributed.rpc.constants:
distributed.rpc.functions: async_execution
distributed.rpc.internal:
distributed.rpc.options:
distributed.rpc.rref_proxy:
distributed.rpc.server_process_global_profiler:
distributed.run:
distributed.tensor: DTensor distribute_module distribute_tensor empty full ones rand randn zeros
distributed.tensor.debug: CommDebugMode visualize_sharding
distributed.tensor.device_mesh:
distributed.tensor.experimental: context_parallel local_map register_sharding
distributed.tensor.parallel: ColwiseParallel PrepareModuleInput PrepareModuleOutput
    RowwiseParallel SequenceParallel loss_parallel parallelize_module
distributed.tensor.parallel.api:
distributed.tensor.parallel.ddp:
distributed.tensor.parallel.fsdp:
distributed.tensor.parallel.input_reshard:
distributed.tensor.parallel.loss:
distributed.tensor.parallel.style:
distributed.tensor.placement_types: Partial Placement Replicate Shard
distributed.utils:
distributions: AbsTransform AffineTransform Bernoulli Beta Binomial CatTransform Categorical
    Cauchy Chi2 ComposeTransform ConstraintRegistry ContinuousBernoulli CorrCholeskyTransform
    CumulativeDistributionTransform Dirichlet Distribution ExpTransform Exponential
    ExponentialFamily FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel HalfCauchy
    HalfNormal Independent IndependentTransform InverseGamma Kumaraswamy LKJCholesky Laplace
    LogNormal LogisticNormal LogitRelaxedBernoulli LowRankMultivariateNormal
    LowerCholeskyTransform MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial
    Normal OneHotCategorical OneHotCategoricalStraightThrough Pareto Poisson
    PositiveDefiniteTransform PowerTransform RelaxedBernoulli RelaxedOneHotCategorical
    ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform
    StickBreakingTransform StudentT TanhTransform Transform TransformedDistribution Uniform
    VonMises Weibull Wishart biject_to identity_transform kl_divergence register_kl transform_to
distributions.bernoulli: Bernoulli
distributions.beta: Beta
distributions.binomial: Binomial
distributions.categorical: Categorical
distributions.cauchy: Cauchy
distributions.chi2: Chi2
distributions.constraint_registry: ConstraintRegistry
distributions.constraints: Constraint cat dependent_property greater_than greater_than_eq
    half_open_interval independent integer_interval interval is_dependent less_than multinomial
    stack
distributions.continuous_bernoulli: ContinuousBernoulli
distributions.dirichlet: Dirichlet
distributions.distribution: Distribution
distributions.exp_family: ExponentialFamily
distributions.exponential: Exponential
distributions.fishersnedecor: FisherSnedecor
distributions.gamma: Gamma
distributions.geometric: Geometric
distributions.gumbel: Gumbel
distributions.half_cauchy: HalfCauchy
distributions.half_normal: HalfNormal
distributions.independent: Independent
distributions.inverse_gamma: InverseGamma
distributions.kl: kl_divergence register_kl
distributions.kumaraswamy: Kumaraswamy
distributions.laplace: Laplace
distributions.lkj_cholesky: LKJCholesky
distributions.log_normal: LogNormal
distributions.logistic_normal:
distributions.lowrank_multivariate_normal: LowRankMultivariateNormal
distributions.mixture_same_family: MixtureSameFamily
distributions.multinomial: Multinomial
distributions.multivariate_normal: MultivariateNormal
distributions.negative_binomial: NegativeBinomial
distributions.normal: Normal
distributions.one_hot_categorical: OneHotCategorical
distributions.pareto: Pareto
distributions.poisson: Poisson
distributions.relaxed_bernoulli: LogitRelaxedBernoulli RelaxedBernoulli
distributions.relaxed_categorical: RelaxedOneHotCategorical
distributions.studentT: StudentT
distributions.transformed_distribution: TransformedDistribution
distributions.transforms: AbsTransform AffineTransform CatTransform ComposeTransform
    CorrCholeskyTransform CumulativeDistributionTransform ExpTransform IndependentTransform
    LowerCholeskyTransform PositiveDefiniteTransform PowerTransform ReshapeTransform
    SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform StickBreakingTransform
    TanhTransform Transform
distributions.uniform: Uniform
distributions.utils:
distributions.von_mises: VonMises
distributions.weibull: Weibull
distributions.wishart: Wishart
export: AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature
    ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature
    ShapesCollection UnflattenedModule default_decompositions dims draft_export export load
    register_dataclass save unflatten
export.custom_obj:
export.custom_ops:
export.decomp_utils: CustomDecompTable
export.dynamic_shapes: Dim ShapesCollection refine_dynamic_shapes_from_suggested_fixes
export.experimental:
export.exported_program: default_decompositions
export.graph_signature: CustomObjArgument ExportGraphSignature InputKind InputSpec OutputKind
    OutputSpec SymBoolArgument SymFloatArgument SymIntArgument
export.passes: move_to_device_pass
export.unflatten: FlatArgsAdapter InterpreterModule InterpreterModuleDispatcher unflatten
functional:
futures: Future collect_all wait_all
fx: Graph GraphModule Interpreter Node Proxy Tracer Transformer has_side_effect map_arg
    replace_pattern symbolic_trace wrap
fx.annotate:
fx.config:
fx.experimental:
fx.experimental.accelerator_partitioner:
fx.experimental.const_fold:
fx.experimental.debug:
fx.experimental.graph_gradual_typechecker:
fx.experimental.merge_matmul:
fx.experimental.meta_tracer:
fx.experimental.migrate_gradual_types:
fx.experimental.migrate_gradual_types.constraint:
fx.experimental.migrate_gradual_types.constraint_generator:
fx.experimental.migrate_gradual_types.constraint_transformation:
fx.experimental.migrate_gradual_types.operation:
fx.experimental.migrate_gradual_types.transform_to_z3:
fx.experimental.migrate_gradual_types.util:
fx.experimental.migrate_gradual_types.z3_types:
fx.experimental.normalize:
fx.experimental.optimization:
fx.experimental.partitioner_utils:
fx.experimental.proxy_tensor: get_proxy_mode handle_sym_dispatch make_fx maybe_disable_thunkify
    maybe_enable_thunkify
fx.experimental.recording:
fx.experimental.refinement_types:
fx.experimental.rewriter:
fx.experimental.schema_type_annotation:
fx.experimental.sym_node:
fx.experimental.symbolic_shapes: CallMethodKey ConvertIntKey DimConstraints DimDynamic DivideByKey
    EqualityConstraint InnerTensorKey PropagateUnbackedSymInts RelaxedUnspecConstraint ShapeEnv
    ShapeEnvSettings StatefulSymbolicContext StatelessSymbolicContext StrictMinMaxConstraint
    SubclassSymbolicContext SymbolicContext canonicalize_bool_expr check_consistent
    compute_unbacked_bindings constrain_range constrain_unify guard_size_oblivious
    has_free_symbols has_free_unbacked_symbols is_accessor_node is_concrete_bool is_concrete_float
    is_concrete_int lru_cache rebind_unbacked resolve_unbacked_bindings statically_known_true
    sym_eq
fx.experimental.unification:
fx.experimental.unification.core:
fx.experimental.unification.dispatch:
fx.experimental.unification.match:
fx.experimental.unification.more:
fx.experimental.unification.multipledispatch:
fx.experimental.unification.multipledispatch.conflict:
fx.experimental.unification.multipledispatch.core:
fx.experimental.unification.multipledispatch.dispatcher:
fx.experimental.unification.multipledispatch.utils:
fx.experimental.unification.multipledispatch.variadic:
fx.experimental.unification.unification_tools:
fx.experimental.unification.utils:
fx.experimental.unification.variable:
fx.experimental.unify_refinements:
fx.experimental.validator:
fx.graph:
fx.graph_module:
fx.immutable_collections:
fx.interpreter:
fx.node:
fx.operator_schemas:
fx.passes:
fx.passes.annotate_getitem_nodes:
fx.passes.backends:
fx.passes.backends.cudagraphs:
fx.passes.dialect:
fx.passes.dialect.common:
fx.passes.dialect.common.cse_pass:
fx.passes.fake_tensor_prop:
fx.passes.graph_drawer:
fx.passes.graph_manipulation:
fx.passes.graph_transform_observer:
fx.passes.infra:
fx.passes.infra.partitioner:
fx.passes.infra.pass_base:
fx.passes.infra.pass_manager:
fx.passes.net_min_base:
fx.passes.operator_support:
fx.passes.param_fetch:
fx.passes.pass_manager:
fx.passes.reinplace:
fx.passes.runtime_assert:
fx.passes.shape_prop:
fx.passes.split_module:
fx.passes.split_utils:
fx.passes.splitter_base:
fx.passes.tests:
fx.passes.tests.test_pass_manager:
fx.passes.tools_common:
fx.passes.utils:
fx.passes.utils.common:
fx.passes.utils.fuser_utils:
fx.passes.utils.matcher_utils:
fx.passes.utils.matcher_with_name_node_map_utils:
fx.passes.utils.source_matcher_utils:
fx.proxy:
fx.subgraph_rewriter:
fx.tensor_type:
fx.traceback:
hub: download_url_to_file get_dir help list load load_state_dict_from_url set_dir
jit: Attribute ScriptFunction ScriptModule annotate enable_onednn_fusion export fork freeze ignore
    interface is_scripting is_tracing isinstance load onednn_fusion_enabled optimize_for_inference
    save script script_if_tracing set_fusion_strategy strict_fusion trace trace_module unused wait
jit.annotations:
jit.frontend:
jit.generate_bytecode:
jit.mobile:
jit.quantized:
jit.supported_ops:
jit.unsupported_tensor_ops:
library: Library custom_op define fallthrough_kernel get_ctx impl impl_abstract infer_schema
    opcheck register_autocast register_autograd register_fake register_kernel
    register_torch_dispatch register_vmap triton_op wrap_triton
masked: MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor
    log_softmax logaddexp logsumexp masked_tensor mean median norm normalize prod softmax softmin
    std sum var
masked.maskedtensor:
masked.maskedtensor.binary:
masked.maskedtensor.core:
masked.maskedtensor.creation:
masked.maskedtensor.passthrough:
masked.maskedtensor.reductions:
masked.maskedtensor.unary:
monitor: Aggregation Event EventHandlerHandle Stat TensorboardEventHandler data_value_t log_event
    register_event_handler unregister_event_handler
mps: compile_shader current_allocated_memory device_count driver_allocated_memory empty_cache
    get_rng_state manual_seed recommended_max_memory seed set_per_process_memory_fraction
    set_rng_state synchronize
mps.event: Event
mps.profiler: is_capturing_metal is_metal_capture_enabled metal_capture profile start stop
mtia: Event Stream StreamContext current_device current_stream default_stream device device_count
    empty_cache get_device_capability get_rng_state init is_available is_initialized memory_stats
    record_memory_history set_device set_rng_state set_stream snapshot stream synchronize
mtia.memory: memory_stats
multiprocessing: SpawnContext get_all_sharing_strategies get_sharing_strategy set_sharing_strategy
multiprocessing.pool:
multiprocessing.queue:
multiprocessing.reductions:
multiprocessing.spawn: spawn
nested: as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged
    to_padded_tensor
onnx: ExportableModule InputObserver JitScalarType ONNXProgram OnnxExporterError export
    is_in_onnx_export register_custom_op_symbolic select_model_mode_for_export
    unregister_custom_op_symbolic
onnx.errors:
onnx.operators:
onnx.symbolic_caffe2:
onnx.symbolic_helper:
onnx.symbolic_opset10:
onnx.symbolic_opset11:
onnx.symbolic_opset12:
onnx.symbolic_opset13:
onnx.symbolic_opset14:
onnx.symbolic_opset15:
onnx.symbolic_opset16:
onnx.symbolic_opset17:
onnx.symbolic_opset18:
onnx.symbolic_opset19:
onnx.symbolic_opset20:
onnx.symbolic_opset7:
onnx.symbolic_opset8:
onnx.symbolic_opset9:
onnx.utils:
onnx.verification: VerificationInfo verify_onnx_program
overrides: get_ignored_functions get_overridable_functions get_testing_overrides
    handle_torch_function has_torch_function is_tensor_like is_tensor_method_or_property
    resolve_name wrap_torch_function
package: Directory EmptyMatchError PackageExporter PackageImporter PackagingError
package.analyze:
package.analyze.find_first_use_of_broken_modules:
package.analyze.is_from_package:
package.analyze.trace_dependencies:
package.file_structure_representation:
package.find_file_dependencies:
package.glob_group:
package.importer:
package.package_exporter:
package.package_importer:
profiler: ProfilerAction ProfilerActivity _KinetoProfile profile schedule
    tensorboard_trace_handler
profiler.itt: is_available mark range_pop range_push
profiler.profiler:
profiler.python_tracer:
quantization:
quantization.fake_quantize:
quantization.fuse_modules:
quantization.fuser_method_mappings:
quantization.fx:
quantization.fx.convert:
quantization.fx.fuse:
quantization.fx.fusion_patterns:
quantization.fx.graph_module:
quantization.fx.match_utils:
quantization.fx.pattern_utils:
quantization.fx.prepare:
quantization.fx.quantization_patterns:
quantization.fx.quantization_types:
quantization.fx.utils:
quantization.observer:
quantization.qconfig:
quantization.quant_type:
quantization.quantization_mappings:
quantization.quantize:
quantization.quantize_fx:
quantization.quantize_jit:
quantization.stubs:
quantization.utils:
quasirandom: SobolEngine
serialization: add_safe_globals clear_safe_globals get_crc32_options get_default_load_endianness
    get_default_mmap_options get_safe_globals get_unsafe_globals_in_checkpoint register_package
    safe_globals set_crc32_options set_default_load_endianness set_default_mmap_options skip_data
signal:
signal.windows: bartlett blackman cosine exponential gaussian general_cosine general_hamming
    hamming hann kaiser nuttall
signal.windows.windows:
sparse: SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT
    SparseSemiStructuredTensorCUTLASS addmm as_sparse_gradcheck check_sparse_tensor_invariants
    log_softmax mm sampled_addmm softmax solve spdiags spsolve sum to_sparse_semi_structured
sparse.semi_structured:
storage:
testing: assert_allclose assert_close make_tensor
torch_version:
types:
utils: generate_methods_for_privateuse1_backend get_cpp_backtrace rename_privateuse1_backend
    set_module swap_tensors
utils.backcompat:
utils.backend_registration:
utils.benchmark: CallgrindStats Compare FunctionCounts Measurement Timer
utils.benchmark.examples:
utils.benchmark.examples.blas_compare_setup:
utils.benchmark.examples.compare:
utils.benchmark.examples.fuzzer:
utils.benchmark.examples.op_benchmark:
utils.benchmark.examples.simple_timeit:
utils.benchmark.examples.spectral_ops_fuzz_test:
utils.benchmark.op_fuzzers:
utils.benchmark.op_fuzzers.binary:
utils.benchmark.op_fuzzers.sparse_binary:
utils.benchmark.op_fuzzers.sparse_unary:
utils.benchmark.op_fuzzers.spectral:
utils.benchmark.op_fuzzers.unary:
utils.benchmark.utils:
utils.benchmark.utils.common:
utils.benchmark.utils.compare:
utils.benchmark.utils.compile:
utils.benchmark.utils.cpp_jit:
utils.benchmark.utils.fuzzer:
utils.benchmark.utils.sparse_fuzzer:
utils.benchmark.utils.timer:
utils.benchmark.utils.valgrind_wrapper:
utils.benchmark.utils.valgrind_wrapper.timer_interface:
utils.bottleneck:
utils.bundled_inputs:
utils.checkpoint: CheckpointPolicy SelectiveCheckpointContext checkpoint checkpoint_sequential
    create_selective_checkpoint_contexts set_checkpoint_debug_enabled
utils.collect_env:
utils.cpp_backtrace:
utils.cpp_extension: BuildExtension CUDAExtension CppExtension SyclExtension
    get_compiler_abi_compatibility_and_version include_paths is_ninja_available load load_inline
    verify_ninja_availability
utils.deterministic: fill_uninitialized_memory
utils.dlpack: from_dlpack to_dlpack
utils.file_baton:
utils.flop_counter:
utils.hipify:
utils.hipify.constants:
utils.hipify.cuda_to_hip_mappings:
utils.hipify.hipify_python:
utils.hipify.version:
utils.hooks:
utils.jit:
utils.jit.log_extract:
utils.mkldnn:
utils.mobile_optimizer: optimize_for_mobile
utils.model_dump:
utils.model_zoo: load_url
utils.module_tracker: ModuleTracker
utils.serialization:
utils.serialization.config:
utils.show_pickle:
utils.tensorboard:
utils.tensorboard.summary:
utils.tensorboard.writer:
utils.throughput_benchmark:
utils.viz:
utils.weak:
version:
xpu: Event Stream StreamContext current_device current_stream device device_count device_of
    empty_cache get_arch_list get_device_capability get_device_name get_device_properties
    get_gencode_flags get_rng_state get_rng_state_all get_stream_from_external init initial_seed
    is_available is_initialized manual_seed manual_seed_all max_memory_allocated
    max_memory_reserved mem_get_info memory_allocated memory_reserved memory_stats
    memory_stats_as_nested_dict reset_accumulated_memory_stats reset_peak_memory_stats seed
    seed_all set_device set_rng_state set_rng_state_all set_stream stream synchronize
xpu.memory:
xpu.random:
xpu.streams:
"""
