"""What the page says first (the answer, the trade-off, the steps), in English and in Spanish."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # The page
    "title": (
        "{collection}: which k, and is the reranker worth it?",
        "{collection}: ¿qué k, y compensa el reranker?",
    ),
    "kicker": ("Retrieval benchmark", "Evaluación de la recuperación"),
    "scope": (
        "{queries} queries on {needs} needs · {systems} systems · k = {ks} · {documents} chunks",
        "{queries} consultas sobre {needs} necesidades · {systems} sistemas · k = {ks} · {documents} "
        "fragmentos",
    ),
    "scope_short": ("{systems} systems · k = {ks}", "{systems} sistemas · k = {ks}"),
    "skip": ("Skip to the answer", "Ir a la respuesta"),
    "contents": ("Contents", "Contenido"),
    "collection": ("Collection", "Colección"),
    "theme_dark": ("Dark", "Oscuro"),
    "theme_light": ("Light", "Claro"),
    "noscript": (
        "Without scripts the page can be read whole. Sorting, filters and the rankings of single queries "
        "need them.",
        "Sin scripts la página se lee entera. Ordenar, filtrar y ver el ranking de cada consulta los "
        "necesita.",
    ),
    # Measures
    "measure": ("Measure", "Medida"),
    "across": ("across k", "entre distintos k"),
    "at_one": ("at one k only", "sólo a un mismo k"),
    "about_precision": ("how much of the k chunks is relevant", "cuánto de los k fragmentos es relevante"),
    "about_recall": ("how much of what is relevant was found", "cuánto de lo relevante se encontró"),
    "about_mrr": (
        "how soon the first relevant chunk comes",
        "cuán pronto llega el primer fragmento relevante",
    ),
    "about_ndcg": (
        "how well the k chunks are ordered, by grade",
        "cuán bien ordenados están los k fragmentos, por grado",
    ),
    "about_complete": (
        "whether every part of the answer is covered",
        "si cada parte de la respuesta está cubierta",
    ),
    "about_success": ("whether anything relevant was found", "si se encontró algo relevante"),
    "about_other": ("see how the measures are defined", "véase cómo se definen las medidas"),
    "read_across": (
        "{measure} cannot fall as k grows, so its values may be compared along a line.",
        "{measure} no puede bajar al crecer k: sus valores pueden compararse a lo largo de una línea.",
    ),
    "read_at_one": (
        "Read {measure} down a column, not along a line: at another k it is another measure.",
        "{measure} se lee en vertical, no a lo largo de una línea: con otro k es otra medida.",
    ),
    # Sections
    "s_answer": ("The answer", "La respuesta"),
    "s_tradeoff": ("What k and the reranker buy and cost", "Qué dan y qué cuestan k y el reranker"),
    "s_steps": ("Step by step", "Paso a paso"),
    "s_cells": ("Every system at every k", "Cada sistema con cada k"),
    "s_slices": ("By kind of query", "Por tipo de consulta"),
    "s_queries": ("Query by query", "Consulta a consulta"),
    "s_made": ("How it was made", "Cómo se hizo"),
    "n_tradeoff": ("Trade-off", "Balance"),
    "n_steps": ("Steps", "Pasos"),
    "n_cells": ("Systems", "Sistemas"),
    "n_slices": ("Kinds of query", "Tipos"),
    "n_queries": ("Queries", "Consultas"),
    "n_made": ("How it was made", "Cómo se hizo"),
    # The answer
    "standing_caption": (
        "The systems by {measure}, mean over {queries} queries ({needs} needs)",
        "Los sistemas según {measure}, media de {queries} consultas ({needs} necesidades)",
    ),
    "can_be_best": ("may be the best", "puede ser el mejor"),
    "shown_lower": ("shown to be lower", "se muestra inferior"),
    "more_systems": ("{count} more systems", "{count} sistemas más"),
    "best_share": ("best in", "mejor en"),
    "best_share_note": (
        "“Best in” is the share of resamples of the needs in which a system has the highest mean; it is "
        "no probability. "
        "“May be the best” means that the test cannot tell it from the best one.",
        "«Mejor en» es la proporción de remuestreos de las necesidades en que un sistema tiene la media "
        "más alta; no es "
        "una probabilidad. «Puede ser el mejor» quiere decir que el contraste no lo distingue del mejor.",
    ),
    "winner": (
        "A system chosen for being first looks better than it is. Scored on queries that did not choose "
        "it, the first "
        "place is worth {figure}.",
        "Un sistema elegido por ser el primero parece mejor de lo que es. Medido con consultas que no lo "
        "eligieron, el "
        "primer puesto vale {figure}.",
    ),
    "missing_systems": ("Not in the figures", "Fuera de las cifras"),
    "references": ("For scale", "Para situarse"),
    "references_said": ("{measure} of {means}", "{measure} de {means}"),
    "random": ("chance", "el azar"),
    "oracle": ("a perfect ranking", "un ranking perfecto"),
    "popular": ("always the most often relevant chunks", "siempre los fragmentos más citados"),
    # The trade-off
    "c_curves": ("Quality against k", "Calidad según k"),
    "c_latency": ("Quality against latency", "Calidad según la latencia"),
    "c_tokens": ("Quality against the length of the context", "Calidad según la longitud del contexto"),
    "axis_measure": ("{measure}, mean over queries", "{measure}, media de las consultas"),
    "axis_k": ("k, chunks handed on", "k, fragmentos entregados"),
    "axis_latency": ("median of one call, ms", "mediana de una llamada, ms"),
    "axis_latency_log": ("median of one call, ms (logarithmic)", "mediana de una llamada, ms (logarítmica)"),
    "axis_tokens": ("tokens in the k chunks, mean", "tokens en los k fragmentos, media"),
    "axis_tokens_log": (
        "tokens in the k chunks, mean (logarithmic)",
        "tokens en los k fragmentos, media (logarítmica)",
    ),
    "bands": (
        "A band is the 95 % interval of a mean. Bands that overlap say little about a difference: see "
        "the steps below. "
        "Choose a name to bring it forward.",
        "La banda es el intervalo al 95 % de una media. Que dos bandas se solapen dice poco de su "
        "diferencia: véanse los "
        "pasos, más abajo. Elija un nombre para destacarlo.",
    ),
    "key": (
        "Same colour and shape: same retriever. Hollow: no reranker; filled: with one.",
        "Mismo color y forma: mismo recuperador. Hueco: sin reranker; relleno: con él.",
    ),
    "curves_said": (
        "{measure} against k ({ks}) of {systems} systems; the table of all systems has the figures.",
        "{measure} según k ({ks}) de {systems} sistemas; la tabla de todos los sistemas tiene las cifras.",
    ),
    "front_said": (
        "{measure} against {cost}, {points} points; the table beside it has those on the front.",
        "{measure} según {cost}, {points} puntos; la tabla contigua tiene los de la frontera.",
    ),
    "latency": ("latency", "la latencia"),
    "tokens": ("tokens of the context", "los tokens del contexto"),
    "front_caption": ("On the front, cheapest first", "En la frontera, de menor a mayor coste"),
    "front_note": (
        "No other point is as good for less. “Holds” is the share of resamples of the needs in which "
        "that is so, costs "
        "held as measured.",
        "Ningún otro punto da lo mismo por menos. «Se mantiene» es la proporción de remuestreos de las "
        "necesidades en que "
        "es así, con los costes medidos.",
    ),
    "at_k": ("at k =", "con k ="),
    "no_k_steps": (
        "{measure} cannot be compared across k, so steps from one k to the next are told of the other "
        "measures.",
        "{measure} no se compara entre k: los pasos de un k al siguiente se dan con las otras medidas.",
    ),
    "front_one_k": (
        "At k = {k}, for {measure} cannot be compared across k.",
        "Con k = {k}: {measure} no se compara entre k.",
    ),
    "no_cost": ("Not measured in this sweep.", "No se midió en este barrido."),
    "holds": ("holds", "se mantiene"),
    "off_front": ("also on it in some resamples", "también en ella en algunos remuestreos"),
    # Steps
    "steps_k": ("From one k to the next", "De un k al siguiente"),
    "steps_reranker": ("From no reranker to one", "De no tener reranker a tenerlo"),
    "steps_note": (
        "Paired over the queries, with 95 % intervals. p is corrected by Benjamini-Hochberg over all "
        "{among} steps tested; "
        "steps are exploratory. A gain that cannot be told from zero is not thereby zero.",
        "Pareado por consultas, con intervalos al 95 %. p está corregida por Benjamini-Hochberg sobre "
        "los {among} pasos "
        "contrastados; los pasos son exploratorios. Que una ganancia no se distinga de cero no la hace "
        "cero.",
    ),
    "step": ("step", "paso"),
    "from_to": ("before → after", "antes → después"),
    "gain": ("gain", "ganancia"),
    "gain_points": ("gain, points", "ganancia, puntos"),
    "interval": ("95 % interval", "intervalo 95 %"),
    "verdict": ("verdict", "veredicto"),
    "extra_ms": ("extra ms", "ms de más"),
    "extra_tokens": ("extra tokens", "tokens de más"),
    "k_better": ("more", "más"),
    "k_worse": ("less", "menos"),
    "better": ("better", "mejor"),
    "worse": ("worse", "peor"),
    "no worse": ("no worse, within {epsilon}", "no peor, dentro de {epsilon}"),
    "undecided": ("undecided", "sin decidir"),
    "not_told": ("not told from zero", "no se distingue de cero"),
}
"""By name: in English, in Spanish. What stands in braces is filled in."""
