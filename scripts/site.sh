#!/usr/bin/env bash
# Makes the documentation site target/site/html from the Markdown files of the repository. Links that lead nowhere are errors.
# Exit code 3 if what it runs on cannot be installed here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'site: %s\n' "$*" >&2; }

python=${PYTHON:-python3}
command -v "$python" >/dev/null || { say "python3 is missing (3.10 or newer): install it, or set PYTHON"; exit 3; }
environment=target/site/env
wanted=$(cat site/requirements.txt; "$python" --version)
# The mark is written last: an installation that was interrupted is begun again.
if [ "$(cat "$environment/mark" 2>/dev/null)" != "$wanted" ]; then
    say "installing MkDocs into $environment"
    rm -rf "$environment"
    mkdir -p target/site
    "$python" -m venv "$environment" || { say "no environment can be made: install python3-venv"; exit 3; }
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r site/requirements.txt >&2 ||
        { say "the packages of site/requirements.txt cannot be installed: is there a network, or an index of packages?"; exit 3; }
    printf '%s\n' "$wanted" >"$environment/mark"
fi

pages=target/site/pages
rm -rf "$pages" target/site/html
mkdir -p "$pages"
# Every document, and what documents link to, in its place.
find . \( -name target -o -name '.?*' \) -prune -o -type f \
    \( -name '*.md' -o -path './docs/*' -o -path './examples/*' -o -name '*.ipynb' -o -path './report/data/*' -o -name CITATION.cff -o -name LICENSE \) -print |
    while read -r file; do
        mkdir -p "$pages/$(dirname "$file")"
        cp "$file" "$pages/$file"
    done
cp site/style.css "$pages/"
cp "$("$environment/bin/python" -c 'import pathlib, ziamath; print(pathlib.Path(ziamath.__file__).parent / "fonts/STIXTwoMath-Regular.ttf")')" "$pages/"
NO_MKDOCS_2_WARNING=1 "$environment/bin/mkdocs" build --quiet --strict --config-file site/mkdocs.yml
say "target/site/html/index.html"
