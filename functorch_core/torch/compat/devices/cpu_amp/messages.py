"""What torch.cpu.amp and torch.cuda.amp warn of."""

DEPRECATED = (
    "`torch.{kind}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{kind}', args...)` instead."
)
