"""From settings to working parts: the only package that names concrete classes."""

from ragctl.db.connect import server_facts
from ragctl.wiring.databases import (
    database_url,
    dump_site,
    embedded_server,
    list_sites,
    migrate_database,
    open_database,
    open_database_for_ingest,
    raw_connection,
    remove_site,
    restore_site,
)
from ragctl.wiring.gateway import listed_routes, make_routes, try_routes
from ragctl.wiring.limits import admit_question, make_giving_way, with_slots
from ragctl.wiring.models import (
    Chosen,
    make_embedder,
    make_generator,
    make_ollama,
    offline_model_state,
    ollama_address,
    require_embedding_model,
)
from ragctl.wiring.places import (
    SETTINGS_NAME,
    data_directory,
    load_settings,
    settings_files,
    user_settings_path,
)
from ragctl.wiring.search import (
    Search,
    calibration_of,
    make_catalogue,
    make_coverage,
    make_rankings,
    make_retriever,
    make_search,
    make_term_shares,
)
from ragctl.wiring.stages import (
    link_style,
    make_chunker,
    make_parser,
    make_template,
    prompt_budget,
)
from ragctl.wiring.traces import retention

__all__ = [
    "SETTINGS_NAME",
    "Chosen",
    "Search",
    "admit_question",
    "calibration_of",
    "data_directory",
    "database_url",
    "dump_site",
    "embedded_server",
    "link_style",
    "list_sites",
    "listed_routes",
    "load_settings",
    "make_catalogue",
    "make_chunker",
    "make_coverage",
    "make_embedder",
    "make_generator",
    "make_giving_way",
    "make_ollama",
    "make_parser",
    "make_rankings",
    "make_retriever",
    "make_routes",
    "make_search",
    "make_template",
    "make_term_shares",
    "migrate_database",
    "offline_model_state",
    "ollama_address",
    "open_database",
    "open_database_for_ingest",
    "prompt_budget",
    "raw_connection",
    "remove_site",
    "require_embedding_model",
    "restore_site",
    "retention",
    "server_facts",
    "settings_files",
    "try_routes",
    "user_settings_path",
    "with_slots",
]
