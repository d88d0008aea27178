"""The Python packages of requirements.txt, installed once into a cache folder named by their versions."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

_REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
_CACHE = pathlib.Path(os.environ.get("MAINSTAY_CACHE") or pathlib.Path.home() / ".cache/mainstay")


def folder():
    """Where they are, installing them first when they are not there."""
    wanted = _REQUIREMENTS.read_bytes() + sys.version.encode()
    venv = _CACHE / f"venv-{hashlib.sha256(wanted).hexdigest()[:16]}"
    if not venv.exists():
        _install(venv)
    return sysconfig.get_path("purelib", "venv", {"base": str(venv), "platbase": str(venv)})


def _install(venv):
    """Into a folder beside, which takes its name when it is whole."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix=f"{venv.name}.", dir=_CACHE))
    try:
        print(f"installing moto and boto3 into {venv} (once)", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", fresh], check=True)
        subprocess.run(
            [fresh / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--requirement", _REQUIREMENTS],
            check=True,
        )
        fresh.rename(venv)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(
            f"the packages of {_REQUIREMENTS} could not be installed ({error}); they come from PyPI with pip, and Debian's "
            "package python3-venv is needed") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
