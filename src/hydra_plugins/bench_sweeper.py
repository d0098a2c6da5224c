"""Hydra's basic sweep with everything known before the first job starts (Hydra finds plugins in this namespace)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from bench.errors import BenchError
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
                # In this process the jobs that were planned are run as they are, not composed a second time.
                if type(self.launcher) is BasicLauncher:
                    sweep.run_here()
                else:
                    sweep.returned(self._launched(waiting))
        sweep.finish()

    def _launched(self, jobs: Sequence[tuple[str, ...]]) -> Sequence[Any]:
        """What the launcher gives back for each job; why it broke off, for each, where a worker was killed."""
        assert self.launcher is not None
        try:
            return self.launcher.launch(jobs, initial_job_idx=0)
        except Exception as error:  # whatever the library under the launcher raises
            reason = str(error).splitlines()[0] if str(error) else ""
            return [BenchError(f"the launcher broke off: {type(error).__name__}: {reason}")] * len(jobs)
