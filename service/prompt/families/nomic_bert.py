"""NomicBert: nomic-embed-text in its native form, and as it was released, with GPT-2's names in config.json.

Its shorter vectors want a layer norm before the cut, which nothing in its files says, so none are offered.
"""

from collections.abc import Mapping

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.prompt.profile.family import Difference
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

AS_RELEASED: Mapping[str, object] = {
    "n_embd": 768,
    "n_head": 12,
    "n_inner": 3072,
    "n_layer": 12,
    "activation_function": "swiglu",
    "causal": False,
    "layer_norm_epsilon": 1e-12,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "num_experts": None,
    "parallel_block": False,
    "prenorm": False,
    "qkv_proj_bias": False,
    "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "use_rms_norm": False,
}
"""Transformers' values for a released config.json, of which it reads none of these names."""
NATIVE = {"n_layer": "num_hidden_layers"}
"""Names that transformers does read in their place."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Released files give lengths as `n_embd` and `n_positions`.

    Where they scale positions, no more are offered than were trained: transformers reads no `rotary_scaling_factor`.

    Raises:
        CheckpointError: files are missing, damaged, or say what transformers would not read.
    """
    config = files.config
    if "hidden_size" in config or "n_embd" not in config:
        return make_text_profile(files, name="nomic_bert")
    for key, value in AS_RELEASED.items():
        is_read = NATIVE.get(key) in config
        if not is_read and config.get(key, value) not in (value, None):
            raise CheckpointError(
                f"config.json has {key} {config[key]!r}; supported with the names of the release: {value!r}"
            )
    is_scaled = config.get("rotary_scaling_factor") is not None
    positions = "max_trained_positions" if is_scaled else "n_positions"
    return make_text_profile(files, name="nomic_bert", width="n_embd", positions=positions)


SCALED = Difference(
    "nomic-embed-text with `rotary_scaling_factor`",
    "goes on beyond the trained positions: transformers unscaled, its own code scaled",
    "prompts end at `max_trained_positions`",
    "the references disagree from there on",
)

FAMILIES = {
    "nomic_bert": text_family(
        ("nomic_bert",),
        "NomicBert: nomic-embed-text",
        stock="NomicBertModel",
        make_profile=make_profile,
        pooling="mean",
        prompt="`search_query: `, `search_document: `",
        differences=(SCALED,),
    )
}
