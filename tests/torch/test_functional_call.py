"""torch.func.functional_call: what may be swapped, and what is left afterwards."""

import pytest

from .agree import agree


def module_of(torch):
    """A module of each kind of tensor."""
    nn = torch.nn

    class Kinds(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(1, 1)
            self.register_buffer("b", torch.ones(1))
            self.register_buffer("nothing", None)
            self.register_parameter("nowhere", None)
            self.plain, self.n = torch.ones(1) * 7, 3

        def forward(self, x):
            return self.l(x) + self.b + self.plain

        @property
        def read(self):
            return self.b * 2

    torch.manual_seed(0)
    return Kinds()


class Changing:
    """Modules that change during the call."""

    @staticmethod
    def of(torch, change):
        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("b", torch.zeros(1))
                self.p, self.plain = torch.nn.Parameter(torch.ones(1)), torch.zeros(1)

            def forward(self, x):
                change(torch, self)
                return x * (self.p if "p" in self._parameters else 1) + self.b

        return Module()


GIVEN = {
    "plain": lambda t, w: {"plain": t.zeros(1), "l.weight": w},
    "extra": lambda t, w: {"foo": t.zeros(1), "l.foo": t.zeros(1), "l.weight": w},
    "no submodule": lambda t, w: {"q.foo": w},
    "through a number": lambda t, w: {"n.foo": w},
    "a number": lambda t, w: {"n": w},
    "none": lambda t, w: {"l.bias": None},
    "none buffer": lambda t, w: {"b": None},
    "for none": lambda t, w: {"nothing": w, "nowhere": w},
    "by a number": lambda t, w: {"l.weight": 3},
    "empty": lambda t, w: {"": w},
    "a module": lambda t, w: {"l": w},
    "a property": lambda t, w: {"read": w},
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_may_be_swapped(name):
    def program(torch):
        module, w = module_of(torch), torch.full((1, 1), 2.0)
        before = {**module._parameters, **module._buffers, **module.l._parameters, "plain": module.plain}
        found = torch.func.functional_call(module, GIVEN[name](torch, w), (torch.ones(1, 1),))
        after = {**module._parameters, **module._buffers, **module.l._parameters, "plain": module.plain}
        return found, [after[k] is v for k, v in before.items()], sorted(vars(module)), sorted(after)

    agree(program, messages=name not in ("a number", "a module", "a property"))


def _assign(torch, module):
    module.b, module.plain = module.b + 1, module.plain + 1


CHANGES = {
    "assigned": _assign,
    "written": lambda torch, module: module.b.add_(1),
    "another parameter": lambda torch, module: setattr(module, "p", torch.nn.Parameter(torch.ones(1) * 5)),
    "no parameter": lambda torch, module: setattr(module, "p", torch.ones(1)),
    "deleted": lambda torch, module: delattr(module, "p"),
    "new": lambda torch, module: module.register_buffer("q", torch.ones(1)),
    "failing": lambda torch, module: torch.ones(2) + torch.ones(3),
}


@pytest.mark.parametrize("given", ["b", "p", "plain", "bp"])
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_left_of_changes(name, given):
    def program(torch):
        module = Changing.of(torch, CHANGES[name])
        tensors = {k: torch.full((1,), 10.0) for k in (["plain"] if given == "plain" else given)}
        try:
            found = torch.func.functional_call(module, tensors, (torch.ones(1),))
        except Exception as error:  # noqa: BLE001 (it is compared)
            found = type(error).__name__
        left = [sorted(module._parameters), sorted(module._buffers), module.b, module.plain]
        if name == "deleted":  # PyTorch puts a mark of its own into the dict
            tensors.pop("p", None)
        return found, left, tensors

    agree(program)


def test_tied_and_circular_modules():
    def tied(torch):
        nn, found = torch.nn, []
        for kwargs in ({}, {"tie_weights": False}):
            a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
            b.weight = a.weight
            net, t = nn.Sequential(a, b), torch.full((1, 1), 4.0)
            with torch.no_grad():
                a.weight.fill_(1)
            found.append(torch.func.functional_call(net, {"1.weight": t}, torch.ones(1, 1), **kwargs))
            found.append(net[0].weight is net[1].weight)
        return found

    def circular(torch):
        module = module_of(torch)
        module.me = module
        w = torch.full((1, 1), 2.0)
        return [torch.func.functional_call(module, {k: w}, torch.ones(1, 1)) for k in ("l.weight", "me.l.weight")]

    def in_circles(torch):
        """Places that only a walk through the circle finds: not all names can be listed."""
        module = module_of(torch)
        module.l.up = module
        tensors = {"l.up.l.weight": torch.full((1, 1), 2.0)}
        return torch.func.functional_call(module, tensors, torch.ones(1, 1), tie_weights=False)

    agree(tied)
    agree(circular)
    agree(in_circles)
    agree(
        lambda torch: torch.func.functional_call(module_of(torch), {"foo": torch.ones(1)}, torch.ones(1), strict=True),
        messages=True,
    )


@pytest.mark.filterwarnings("ignore")
def test_stateless_takes_one_dict():
    def program(torch):
        stateless = __import__(f"{torch.nn.__name__}.utils.stateless", fromlist=["functional_call"])
        return stateless.functional_call(module_of(torch), [{"b": torch.ones(1)}], torch.ones(1, 1))

    agree(program)
