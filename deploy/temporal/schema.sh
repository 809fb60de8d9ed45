# Creates or updates the databases of Temporal. Repeating it does no harm.
set -eu
for database in temporal visibility; do
  name=temporal
  if [ "$database" = visibility ]; then name=temporal_visibility; fi
  tool="temporal-sql-tool --plugin postgres12 --ep $POSTGRES_SEEDS -p $DB_PORT -u $POSTGRES_USER --db $name"
  $tool create
  $tool setup-schema -v 0.0
  $tool update-schema -d /etc/temporal/schema/postgresql/v12/$database/versioned
done
