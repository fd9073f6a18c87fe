"""Rerankers that score by logits of tokens: ids, heads and chat templates."""

import torch

from tests.models.folders.edits import Edit, put, remove, tensors, write
from tests.models.folders.reranker_bases import (
    INSTRUCTED,
    LOGIT_SCORE,
    LOGITS,
    STRUCTURED,
    TRANSFORMER,
    ZERANK,
)
from tests.models.folders.reranker_case import (
    CONFIG,
    NAMES,
    SCORE,
    SETTINGS,
    TEMPLATE,
    TOKENIZER,
    WITH_ANSWER,
    Case,
    modules,
    saved,
    template,
)
from tests.models.reranker.checkpoints import QWEN3_RERANKER
from tests.models.text.checkpoints import SIZES


def own_head(width: int = SIZES["hidden_size"], num_rows: int = 402) -> Edit:
    made = torch.randn(num_rows, width, generator=torch.Generator().manual_seed(5)) * 0.3
    return tensors(**{"lm_head.weight": made})


JUDGES = [
    Case("zerank's form", "judge, saved"),
    Case("zerank's form, called an embedder", "judge, saved", folder="Qwen3-Embedding-0.6B"),
    Case("ids true and false", "judge, saved", [put(SCORE, false_token_id=17)]),
    Case("ids without a module's input", "judge, saved", [put(SCORE, module_input_name="causal_logits")]),
    Case(
        "ids of another input",
        "judge, saved",
        [put(SCORE, module_input_name="token_embeddings")],
        r"1_LogitScore/config\.json has module_input_name",
    ),
    Case(
        "an id beyond the vocabulary",
        "judge, saved",
        [put(SCORE, true_token_id=402)],
        r"1_LogitScore/config\.json has true_token_id 402",
    ),
    Case(
        "a negative id",
        "judge, saved",
        [put(SCORE, false_token_id=-1)],
        r"1_LogitScore/config\.json has false_token_id -1",
    ),
    Case("no id", "judge, saved", [write(SCORE, {})], r"1_LogitScore/config\.json has true_token_id None"),
    Case(
        "LogitScore at another path",
        "judge, saved",
        [modules((TRANSFORMER, ""), (LOGIT_SCORE, "2_LogitScore"))],
        r"modules\.json names LogitScore, whose config\.json is not at its path",
    ),
    Case(
        "LogitScore and no saved file",
        "judge, saved",
        [remove(NAMES)],
        r"LogitScore, and config_sentence_transformers\.json has no model_type",
    ),
    Case(
        "LogitScore of another package",
        "judge, saved",
        [modules((TRANSFORMER, ""), ("mine.LogitScore", "1_LogitScore"))],
        r"modules\.json has the module 'mine\.LogitScore'",
    ),
    Case(
        "a module between",
        "judge, saved",
        [
            modules(
                (TRANSFORMER, ""),
                ("sentence_transformers.base.modules.dense.Dense", "d"),
                (LOGIT_SCORE, "1_LogitScore"),
            )
        ],
        r"modules\.json has Transformer, Dense, LogitScore",
    ),
    Case("no answer's turn", "judge, saved", [put(SETTINGS, processing_kwargs={})]),
    Case(
        "a variable of the template",
        "judge, saved",
        [write(TEMPLATE, ZERANK + "{{ mark }}<|im_end|>"), template(mark="so: ")],
    ),
    Case(
        "an instruction of the files",
        "judge, saved",
        [write(TEMPLATE, INSTRUCTED), put(NAMES, prompts={"task": "Find it."}, default_prompt_name="task")],
    ),
    Case(
        "a default prompt that is none",
        "judge, saved",
        [put(NAMES, prompts={}, default_prompt_name="task")],
        rf"{NAMES} has default_prompt_name 'task'",
    ),
    Case(
        "messages of parts",
        "judge, saved",
        [
            write(TEMPLATE, STRUCTURED),
            put(SETTINGS, modality_config={"text": LOGITS, "message": LOGITS | {"format": "structured"}}),
        ],
    ),
    Case(
        "a format that is found out",
        "judge, saved",
        [write(TEMPLATE, STRUCTURED), put(SETTINGS, modality_config={"text": LOGITS, "message": LOGITS})],
    ),
    Case(
        "a format of its own",
        "judge, saved",
        [put(SETTINGS, modality_config={"message": LOGITS | {"format": "xml"}})],
        r"has the format 'xml'",
    ),
    Case(
        "a template that is chosen by name",
        "judge, saved",
        [write("additional_chat_templates/other.jinja", INSTRUCTED), template(chat_template="other")],
    ),
    Case(
        "a template without that name",
        "judge, saved",
        [template(chat_template="other")],
        r"has no chat template 'other'",
    ),
    Case(
        "templates of tokenizer_config.json",
        "judge, saved",
        [
            remove(TEMPLATE),
            put(
                TOKENIZER,
                chat_template=[{"name": "default", "template": INSTRUCTED}, {"name": "tool", "template": "x"}],
            ),
        ],
    ),
    Case(
        "the file before tokenizer_config.json",
        "judge, saved",
        [put(TOKENIZER, chat_template="{{ messages[0].content }}")],
    ),
    Case("messages without a template", "judge, saved", [remove(TEMPLATE)], r"has no chat template 'default'"),
    Case(
        "special tokens of the template",
        "judge, saved",
        [write(TEMPLATE, "{{ eos_token }}" + INSTRUCTED + "{{ pad_token }}")],
    ),
    Case(
        "a special token that no file names",
        "judge, saved",
        [write(TEMPLATE, "{{ bos_token }}" + INSTRUCTED)],
        rf"{TEMPLATE} writes bos_token, which tokenizer_config\.json has not",
    ),
    Case(
        "special tokens of an older file",
        "judge, saved",
        [write(TEMPLATE, "{{ bos_token }}" + INSTRUCTED), put("special_tokens_map.json", bos_token="<|im_end|>")],
    ),
    Case(
        "a document before the query",
        "judge, saved",
        [write(TEMPLATE, "{{ messages[1].content }}<|im_end|>{{ messages[0].content }}<|im_end|>")],
    ),
    Case(
        "a query that stands twice, words behind",
        "judge, saved",
        [
            write(
                TEMPLATE,
                "{{ messages[0].content }}<|im_end|>{{ messages[1].content }} - is it {{ messages[0].content }}?\n",
            )
        ],
    ),
    Case(
        "a template that cuts a text",
        "judge, saved",
        [write(TEMPLATE, "{{ messages[0].content[:99] }}<|im_end|>{{ messages[1].content }}")],
        rf"{TEMPLATE} changes the texts of a pair",
    ),
    Case(
        "a template that is upper case",
        "judge, saved",
        [write(TEMPLATE, "{{ messages[0].content | upper }}<|im_end|>{{ messages[1].content }}")],
        rf"{TEMPLATE} changes the texts|{TEMPLATE} leaves out",
    ),
    Case(
        "a template without the document",
        "judge, saved",
        [write(TEMPLATE, "{{ messages[0].content }}<|im_end|>")],
        rf"{TEMPLATE} leaves out the document",
    ),
    Case(
        "a template of the day",
        "judge, saved",
        [write(TEMPLATE, ZERANK + "{{ strftime_now('%Y') }}")],
        rf"{TEMPLATE} asks for the day",
    ),
    Case(
        "a template that is damaged", "judge, saved", [write(TEMPLATE, "{% if %}")], rf"{TEMPLATE} cannot be rendered"
    ),
    Case("a head of its own beside tie_word_embeddings", "judge, saved", [own_head()]),
    Case(
        "a head of fewer rows",
        "judge, saved",
        [own_head(num_rows=300)],
        r"lm_head\.weight in the shape \[300, 32\]; 402 rows",
    ),
    Case("a head of its own", "judge, saved", [own_head(), put(CONFIG, tie_word_embeddings=False)]),
    Case(
        "no head and no tie",
        "judge, saved",
        [put(CONFIG, tie_word_embeddings=False)],
        r"0 tensors called lm_head\.weight",
    ),
    Case("Qwen3-Reranker's template alone", "judge", [write(TEMPLATE, QWEN3_RERANKER)]),
    Case("the same with one line end less", "judge", [write(TEMPLATE, QWEN3_RERANKER[:-1])]),
    Case("the same, called an embedder", "judge", [write(TEMPLATE, QWEN3_RERANKER)], folder="Qwen3-Embedding-0.6B"),
    Case(
        "Qwen3-Reranker as saved",
        "judge",
        [write(TEMPLATE, QWEN3_RERANKER), saved(), write(SCORE, {"true_token_id": 400, "false_token_id": 401})],
    ),
    Case(
        "a language model that is called a reranker",
        "judge",
        [write("README.md", "---\npipeline_tag: text-ranking\n---\n")],
        r"model_type 'qwen3', which several models share",
        folder="Qwen3-Reranker-0.6B",
    ),
    Case(
        "a language model with another template",
        "judge",
        [write(TEMPLATE, ZERANK)],
        r"which several models share",
        folder="zerank-1",
    ),
    Case(
        "a language model with a classifier's head",
        "judge",
        [tensors(**{"score.weight": torch.ones(1, 32)})],
        r"which several models share|score\.weight",
    ),
    *(
        Case(
            f"LogitScore on {name}",
            f"{name} generator",
            [
                write(TEMPLATE, ZERANK),
                saved(processing_kwargs=WITH_ANSWER),
                write(SCORE, {"true_token_id": 300, "false_token_id": 17}),
            ],
        )
        for name in ("llama", "mistral", "gemma3_text")
    ),
    Case(
        "capped logits",
        "gemma3_text generator",
        [
            write(TEMPLATE, ZERANK),
            saved(),
            write(SCORE, {"true_token_id": 300}),
            put(CONFIG, final_logit_softcapping=30.0),
        ],
        r"config\.json has final_logit_softcapping 30\.0",
    ),
]
