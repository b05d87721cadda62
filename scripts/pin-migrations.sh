#!/bin/sh
# Writes tests/migrations.sha256 anew. Only for migrations that no release contains yet.
set -eu
cd "$(dirname "$0")/../src/store/migrations"
sha256sum -- *.sql > ../../../tests/migrations.sha256
