"""config.json as a model's own code reads it, in the names by which transformers has the same model.

In: config.json. Out: the same object, or one of transformers' names; an error names a key that transformers has no
place for. Both processes read a folder by it: the front its lengths, the engine its configuration.

Source: `configuration.py` and `modeling.py` of Alibaba-NLP/new-impl, nomic-ai/nomic-bert-2048 and
jinaai/jina-bert-implementation; transformers 5.24 `GteConfig`, `NomicBertConfig`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from service.checkpoint.json_files import CheckpointError

Config = Mapping[str, Any]

NEW: Config = {
    "vocab_size": 30528,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 2048,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-12,
    "rope_theta": 10000.0,
    "rope_scaling": None,
}
"""Values of the code of `new` where its config.json says nothing; some of transformers' `gte` are others."""
OF_GTE: Config = {
    "hidden_act": "gelu",
    "layer_norm_type": "layer_norm",
    "position_embedding_type": "rope",
    "pack_qkv": True,
    "logn_attention_scale": False,
}
"""Keys of that code with the only value that `gte` computes. What stands beside them, such as `unpad_inputs`, says how
the same numbers are computed."""
OF_NOMIC: Config = {
    "causal": False,
    "parallel_block": False,
    "prenorm": False,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "use_rms_norm": False,
}
"""The same of NomicBert's code."""
GATED: Config = {"activation_function": "swiglu", "mlp_fc1_bias": False, "mlp_fc2_bias": False, "qkv_proj_bias": False}
EXPERTS: Config = {
    "activation_function": "gelu",
    "mlp_fc1_bias": True,
    "mlp_fc2_bias": True,
    "qkv_proj_bias": True,
    "expert_choice_router": False,
    "ffn_div": 1,
    "moe_normalize_expert_weights": False,
    "num_shared_experts": 0,
}
"""The same where some of its layers have experts, and where none has."""
NOMIC_NAMES: Mapping[str, str] = {
    "n_embd": "hidden_size",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_layer": "num_hidden_layers",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
}
JINA_V5 = "jina_embeddings_v5"
ALIBI = "alibi"
"""`position_embedding_type` of JinaBERT, whose `model_type` is BERT's."""


def in_native_names(config: Config) -> Config:
    """The configuration as transformers' class of its model reads it; any other config.json as it is."""
    read = _READERS.get(str(config.get("model_type")))
    return config if read is None else read(config)


def _new(config: Config) -> Config:
    names = [str(name).replace("New", "Gte", 1) for name in config.get("architectures") or ()]
    return _gte({**NEW, **config, "model_type": "gte", "architectures": names})


def _gte(config: Config) -> Config:
    """Snowflake's Arctic Embed M 2.0 has the keys of `new`, and `gte` as its type."""
    if config.get("rope_parameters") is not None:
        return config
    _only(config, OF_GTE)
    theta, scaling = config.get("rope_theta"), config.get("rope_scaling")
    if scaling is None:
        return config if theta is None else {**config, "rope_parameters": {"rope_type": "default", "rope_theta": theta}}
    return {**config, "rope_parameters": _fixed_ntk(config, scaling, theta), "rope_scaling": None}


def _fixed_ntk(config: Config, scaling: object, theta: object) -> dict[str, object]:
    """Rotary frequencies that are scaled alike at every length: ``(s θ)^(-2i/d) / s^(2/d)``.

    They are those of linear scaling by s^(2/d) with the base s θ, where s is the factor of `rope_scaling`, θ
    `rope_theta`, and d the width of a head. The code's mixed form has others.

    Source: NTKScalingRotaryEmbedding of `modeling.py`; kexue.fm/archives/9706.
    """
    said = scaling if isinstance(scaling, dict) else {}
    kind, factor = said.get("type", said.get("rope_type")), said.get("factor")
    if kind != "ntk" or said.get("mixed_b") is not None or not isinstance(factor, int | float) or factor <= 1:
        raise CheckpointError(
            f"config.json has rope_scaling {scaling!r}; supported of this model: null, or type 'ntk' with a factor "
            "above 1 and without mixed_b"
        )
    width, heads = (config.get(key, NEW[key]) for key in ("hidden_size", "num_attention_heads"))
    if not (isinstance(theta, int | float) and type(width) is int and type(heads) is int and width >= heads > 0):
        raise CheckpointError(
            f"config.json has rope_theta {theta!r}, hidden_size {width!r} and num_attention_heads {heads!r} beside "
            "rope_scaling; positive numbers are needed"
        )
    return {"rope_type": "linear", "rope_theta": theta * factor, "factor": factor ** (2 * heads / width)}


def _jina_v5(config: Config) -> Config:
    """jina-embeddings-v5-text is Qwen3 (small) or EuroBERT (nano), which alone says that it is no decoder."""
    return {**config, "model_type": "eurobert" if config.get("is_decoder") is False else "qwen3"}


def _nomic(config: Config) -> Config:
    """Where positions are scaled, those that were trained are left: transformers reads no `rotary_scaling_factor`."""
    if "hidden_size" in config or "n_embd" not in config:
        return config
    _only(config, {**OF_NOMIC, **(EXPERTS if config.get("num_experts") else GATED)})
    native = dict(config)
    for released, name in NOMIC_NAMES.items():
        if native.get(released) is not None:
            native[name] = native.pop(released)
    native["hidden_act"] = "gelu" if config.get("num_experts") else "silu"
    if (theta := config.get("rotary_emb_base")) is not None:
        native["rope_parameters"] = {"rope_type": "default", "rope_theta": theta}
    if config.get("rotary_scaling_factor") is not None:
        native["max_position_embeddings"] = config.get("max_trained_positions")
    return native


def _bert(config: Config) -> Config:
    """JinaBERT names a kind of attention that is none of transformers'; it says how the same numbers are computed."""
    kind, supported = config.get("position_embedding_type"), ["absolute"]
    if config["model_type"] == "bert":
        supported.append(ALIBI)
    if kind is not None and kind not in supported:
        raise CheckpointError(
            f"config.json has position_embedding_type {kind!r}; supported of this model: {', '.join(supported)}"
        )
    return config if kind != ALIBI else {key: value for key, value in config.items() if key != "attn_implementation"}


def _only(config: Config, supported: Config) -> None:
    """Pass where each of the keys is absent, null, or has the value that is computed."""
    for key, value in supported.items():
        if config.get(key, value) not in (value, None):
            raise CheckpointError(f"config.json has {key} {config[key]!r}; supported of this model: {value!r}")


_READERS: Mapping[str, Callable[[Config], Config]] = {
    **dict.fromkeys(("bert", "camembert", "electra", "roberta", "xlm-roberta"), _bert),
    "gte": _gte,
    JINA_V5: _jina_v5,
    "new": _new,
    "nomic_bert": _nomic,
}
