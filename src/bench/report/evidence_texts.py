"""What the page says of its evidence (cells, slices, queries, how it was made), in English and in Spanish."""

from __future__ import annotations

EVIDENCE_TEXTS: dict[str, tuple[str, str]] = {
    # Cells
    "cells_note": (
        "Bold: the best of its k. Small figures: 95 % intervals. {marks} against {baseline} at k = {k} "
        "({measure}, corrected by "
        "Holm, p ≤ {alpha}).",
        "Negrita: el mejor de su k. Cifras pequeñas: intervalos al 95 %. {marks} frente a {baseline} con "
        "k = {k} ({measure}, "
        "corrección de Holm, p ≤ {alpha}).",
    ),
    "cells_plain": (
        "Bold: the best of its k. Small figures: 95 % intervals.",
        "Negrita: el mejor de su k. Cifras pequeñas: intervalos al 95 %.",
    ),
    "mark_up": ("▲ shown to be higher, ▼ shown to be lower", "▲ se muestra superior, ▼ se muestra inferior"),
    "higher": ("shown to be higher than the baseline", "se muestra superior al de partida"),
    "lower": ("shown to be lower than the baseline", "se muestra inferior al de partida"),
    "baseline": ("baseline", "de partida"),
    "mark_ties": (
        "~ another order of equal scores could change it",
        "~ otro orden de las puntuaciones iguales podría cambiarlo",
    ),
    "mark_unjudged": (
        "? what is unjudged within k could change it",
        "? lo no juzgado dentro de k podría cambiarlo",
    ),
    "system": ("system", "sistema"),
    "judged": ("Judged", "Juzgado"),
    "judged_title": ("share of the k chunks that was judged", "proporción de los k fragmentos que se juzgó"),
    "queries": ("queries", "consultas"),
    "needs": ("needs", "necesidades"),
    "tokens_column": ("tokens", "tokens"),
    "p50": ("p50 ms", "p50 ms"),
    "p95": ("p95 ms", "p95 ms"),
    "filter_systems": ("Filter systems", "Filtrar sistemas"),
    "filter_k": ("k", "k"),
    "all": ("all", "todos"),
    "sort_hint": (
        "Sort by a column by choosing its heading.",
        "Elija un encabezado para ordenar por su columna.",
    ),
    "failed": ("failed", "falló"),
    "skipped": ("skipped", "omitido"),
    "no_reason": ("no reason was kept", "no se guardó el motivo"),
    "within_budget": ("Within a token budget", "Dentro de un presupuesto de tokens"),
    "budget": ("budget", "presupuesto"),
    "chunks": ("chunks", "fragmentos"),
    "rows_shown": ("{shown} of {all} rows", "{shown} de {all} filas"),
    # Slices
    "slices_at": ("{measure} by {key}", "{measure} por {key}"),
    "slices_note": (
        "Darker is higher; intervals where there are 10 needs",
        "Más oscuro es más alto; hay intervalos desde 10 necesidades",
    ),
    "interaction_shown": (
        "How the systems compare differs between values of {key} more than chance explains (p {p}, "
        "Benjamini-Hochberg over "
        "{among}).",
        "Cómo se comparan los sistemas cambia entre valores de {key} más de lo que explica el azar (p "
        "{p}, Benjamini-Hochberg "
        "sobre {among}).",
    ),
    "interaction_not": (
        "That the systems compare otherwise for one value of {key} than for another is not shown (p {p}, "
        "Benjamini-Hochberg "
        "over {among}): the table is no ground to choose by.",
        "No se ha mostrado que los sistemas se comparen de otro modo entre valores de {key} (p {p}, "
        "Benjamini-Hochberg sobre "
        "{among}): la tabla no da motivo para elegir.",
    ),
    "interaction_untested": (
        "Whether the systems differ between values of {key} can't be tested.",
        "No se puede contrastar si los sistemas difieren entre valores de {key}.",
    ),
    "no_value": ("(none)", "(ninguno)"),
    "no_slices": (
        "The queries carry no metadata to divide them by.",
        "Las consultas no llevan metadatos por los que dividirlas.",
    ),
    # Queries
    "queries_note": (
        "Hardest first: by the mean of {measure} over the systems. Choose one to see two rankings of it "
        "side by side.",
        "Primero las más difíciles: según la media de {measure} de los sistemas. Elija una para ver dos "
        "rankings a la vez.",
    ),
    "order": ("Order", "Orden"),
    "order_hard": ("hardest first", "las más difíciles primero"),
    "order_left": ("left ahead of right", "izquierda por delante"),
    "order_right": ("right ahead of left", "derecha por delante"),
    "search_queries": ("Search queries", "Buscar consultas"),
    "hardness": ("mean {measure}", "media de {measure}"),
    "no_text": ("(no text)", "(sin texto)"),
    "not_counted": (
        "not in the means: nothing relevant is judged",
        "fuera de las medias: nada juzgado relevante",
    ),
    "left": ("Left", "Izquierda"),
    "right": ("Right", "Derecha"),
    "grade": ("grade {grade}", "grado {grade}"),
    "unjudged": ("unjudged", "sin juzgar"),
    "here": ("rank in the other: {rank}", "puesto en el otro: {rank}"),
    "not_here": ("not in the other’s first {depth}", "no está entre los {depth} primeros del otro"),
    "cut_here": ("k = {k}: what follows is not handed on", "k = {k}: lo que sigue no se entrega"),
    "nothing_found": ("Nothing came back.", "No se devolvió nada."),
    "left_out": (
        "Relevant, and left out by one of the two",
        "Relevantes y fuera del top k de alguno de los dos",
    ),
    "rank": ("rank {rank}", "puesto {rank}"),
    "beyond": ("not within depth {depth}", "no hasta la profundidad {depth}"),
    "beyond_unknown": ("not found", "no encontrado"),
    "text_cut": ("text cut here", "texto cortado aquí"),
    "relevant_count": ("{count} relevant", "{count} relevantes"),
    "no_rankings": (
        "The rankings of this query are not in the page.",
        "Los rankings de esta consulta no están en la página.",
    ),
    "show_more": ("Show {count} more", "Mostrar {count} más"),
    "queries_found": ("{shown} of {all} queries", "{shown} de {all} consultas"),
    "depth_note": (
        "Rankings are shown to rank {depth}.",
        "Los rankings se muestran hasta el puesto {depth}.",
    ),
    "depth_less": (
        "To keep the page small, rankings are shown to rank {depth}, texts to {letters} characters.",
        "Para que la página sea ligera, los rankings llegan al puesto {depth} y los textos a {letters} "
        "caracteres.",
    ),
    "score": ("score", "puntuación"),
    # Made
    "folder": ("folder", "carpeta"),
    "started": ("started", "empezó"),
    "finished": ("finished", "terminó"),
    "size_documents": ("chunks", "fragmentos"),
    "size_queries": ("queries", "consultas"),
    "size_judged_queries": ("judged queries", "consultas juzgadas"),
    "size_needs": ("needs", "necesidades"),
    "size_judgements": ("judgements", "juicios"),
    "no_relevant": (
        "{collection}: {count} judged queries without a relevant chunk are in no mean.",
        "{collection}: {count} consultas juzgadas sin fragmento relevante no entran en ninguna media.",
    ),
    "command": ("Command", "Orden"),
    "copy": ("Copy", "Copiar"),
    "copied": ("Copied", "Copiado"),
    "versions": ("Versions", "Versiones"),
    "machine": ("Machine", "Máquina"),
    "digests": ("Digests", "Huellas"),
    "sizes": ("Collection", "Colección"),
    "when": ("When", "Cuándo"),
    "config": ("Configuration of each system", "Configuración de cada sistema"),
    "seeds": ("Seeds", "Semillas"),
    "left_out_means": ("Left out, and why", "Qué se dejó fuera y por qué"),
    "notes": ("Notes", "Notas"),
    "schema": ("Schema of the tables", "Esquema de las tablas"),
    "nothing_left_out": ("Nothing was left out.", "No se dejó nada fuera."),
    "made_with": ("Made by bench {version}", "Hecho con bench {version}"),
}
"""By name: in English, in Spanish. What stands in braces is filled in."""
