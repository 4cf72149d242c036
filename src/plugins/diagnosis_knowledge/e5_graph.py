"""The encoder of multilingual-e5-small as an ONNX graph: embedded tokens in, tokens in context out.

Matrices are multiplied in 8-bit integers, which takes two thirds of the time of floats. Weights
use 7 of the 8 bits: with 8, processors without VNNI saturate, and one text would get different
vectors on different machines. What leaves the wide middle of a layer is quantised in groups: a few
values there are many times larger than the others, and would cost all of them their last bits.
"""

from __future__ import annotations

from typing import Any

from diagnosis_knowledge.e5_weights import Weights

_FUSED = "com.microsoft"  # ONNX Runtime's own operators
_OPSET, _IR = 18, 9
_WEIGHT_MAX = 63
_GROUPS = 4


def encoder(weights: Weights) -> bytes:
    """The graph, serialised.

    Input `embedded` and output `encoded` are floats of shape [1, tokens, width].
    """
    from onnx import TensorProto, helper

    graph = _Graph()
    state = "embedded"
    for layer in range(weights.layers):
        state = _layer(graph, weights, f"l{layer}", state)
    graph.node("Identity", [state], ["encoded"], domain="")
    shape: list[str | int | None] = [1, "tokens", weights.width]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name in ("embedded", "encoded")
    ]
    made = helper.make_graph(graph.nodes, "e5", ports[:1], ports[1:], graph.constants)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    model: bytes = helper.make_model(made, opset_imports=opsets, ir_version=_IR).SerializeToString()
    return model


def _layer(graph: _Graph, weights: Weights, name: str, state: str) -> str:
    """Attention, then feed-forward; each is added to what came in and normalised."""
    width, inner = weights.width, weights.inner
    query, key, value = (
        graph.linear(state, weights, f"{name}.{part}", width) for part in ("q", "k", "v")
    )
    attended = graph.node("MultiHeadAttention", [query, key, value], num_heads=weights.heads)
    mixed = graph.linear(attended, weights, f"{name}.ao", width)
    state = graph.normalised(state, mixed, weights, f"{name}.aln")
    grown = graph.node("Gelu", [graph.linear(state, weights, f"{name}.fi", inner)])
    shrunk = graph.linear(grown, weights, f"{name}.fo", width, _GROUPS)
    return graph.normalised(state, shrunk, weights, f"{name}.oln")


class _Graph:
    """Nodes and constants while the graph is made."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, values: Any) -> str:
        import numpy as np
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(
        self,
        kind: str,
        inputs: list[str],
        outputs: list[str] | None = None,
        *,
        domain: str = _FUSED,
        **attributes: Any,
    ) -> str:
        from onnx import helper

        outputs = outputs or [f"{kind}{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def linear(self, state: str, weights: Weights, name: str, outputs: int, groups: int = 1) -> str:
        """A matrix and a bias; each group of what goes in is quantised as it comes."""
        import numpy as np

        parts = [state] if groups == 1 else [f"{name}.part{group}" for group in range(groups)]
        if groups > 1:
            self.node("Split", [state], parts, domain="", axis=-1, num_outputs=groups)
        total = self.constant(f"{name}.b", weights.floats(f"{name}.b"))
        matrices = np.split(weights.matrix(f"{name}.w", outputs), groups)
        for number, (part, matrix) in enumerate(zip(parts, matrices, strict=True)):
            scale = np.abs(matrix).max(axis=0) / _WEIGHT_MAX
            whole = np.round(matrix / np.maximum(scale, 1e-12)).astype(np.int8)
            inputs = [
                part,
                self.constant(f"{name}.w{number}", whole),
                self.constant(f"{name}.scale{number}", scale.astype(np.float32)),
            ]
            if number == 0:
                total = self.node("DynamicQuantizeMatMul", [*inputs, "", total])
            else:
                product = self.node("DynamicQuantizeMatMul", inputs)
                total = self.node("Add", [total, product], domain="")
        return total

    def normalised(self, state: str, added: str, weights: Weights, name: str) -> str:
        """Layer norm of a sum."""
        return self.node(
            "SkipLayerNormalization",
            [
                state,
                added,
                self.constant(f"{name}.w", weights.floats(f"{name}.w")),
                self.constant(f"{name}.b", weights.floats(f"{name}.b")),
            ],
            epsilon=weights.epsilon,
        )
