"""Hydra's basic sweep with everything known before the first job starts (Hydra finds plugins in this namespace)."""

from __future__ import annotations

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from bench.sweep import Sweep


class BenchSweeper(BasicSweeper):
    """Composes every job, lets the sweep plan and check them, and launches what is left to do."""

    def sweep(self, arguments: list[str]) -> None:
        """Run the whole sweep; what went wrong with a job is recorded, what is wrong with the request is raised."""
        assert self.config is not None and self.launcher is not None and self.hydra_context is not None
        loader = self.hydra_context.config_loader
        parsed = OverridesParser.create(config_loader=loader).parse_overrides(
            self._parse_config() + arguments
        )
        overrides = self.split_arguments(parsed, max_batch_size=None)[0]
        sweep = Sweep.plan([(job, loader.load_sweep_config(self.config, job)) for job in overrides])
        if self.config.dry_run:
            sweep.dry_run()
            return
        sweep.prepare()
        waiting = sweep.waiting()
        if waiting:
            with sweep.progress():
                sweep.returned(self.launcher.launch(waiting, initial_job_idx=0))
        sweep.finish()
