"""The Python packages of requirements.txt, installed once into a virtual environment in a cache folder, named by their
versions. As a program it prints that folder: bin/moto_server stands in it.
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

_REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
_CACHE = pathlib.Path(os.environ.get("MAINSTAY_CACHE") or pathlib.Path.home() / ".cache/mainstay")


def environment():
    """The virtual environment's folder; what is not there yet is installed first."""
    wanted = _REQUIREMENTS.read_bytes() + sys.version.encode()
    venv = _CACHE / f"venv-{hashlib.sha256(wanted).hexdigest()[:16]}"
    whole = venv / "whole"  # made when everything is in it
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs on one machine
        if not whole.exists():
            shutil.rmtree(venv, ignore_errors=True)
            _install(venv)
            whole.touch()
    return venv


def folder():
    """Where Python finds the packages."""
    base = str(environment())
    return sysconfig.get_path("purelib", "venv", {"base": base, "platbase": base})


def _install(venv):
    print(f"installing moto and boto3 into {venv} (once)", file=sys.stderr, flush=True)
    pip = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    try:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([*pip, "--requirement", _REQUIREMENTS], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(
            f"the packages of {_REQUIREMENTS} could not be installed ({error}); they come from PyPI with pip, and Debian's "
            "package python3-venv is needed") from error


if __name__ == "__main__":
    print(environment())
