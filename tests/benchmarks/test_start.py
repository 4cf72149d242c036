"""What starting costs: the import of the package, and `diagnosis --help`, beside Python itself."""

import shutil
import statistics
import subprocess
import sys
import time

TURNS = 15


def seconds(command):
    """Median wall time of a command, its first run left out."""
    times = []
    for _ in range(TURNS + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def test_start():
    diagnosis = shutil.which("diagnosis", path=str(sys.executable).rpartition("/")[0])
    assert diagnosis is not None
    python = seconds([sys.executable, "-c", "pass"])
    package = seconds([sys.executable, "-c", "import diagnosis"]) - python
    help_text = seconds([diagnosis, "--help"])
    print(f"\nPython alone {python:.3f} s")
    print(f"import diagnosis {package:.3f} s more (at most 0.15)")
    print(f"diagnosis --help {help_text:.3f} s (at most 0.5)")
    assert package < 0.15
    assert help_text < 0.5
