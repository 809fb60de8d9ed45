# Creates the namespace, when it does not exist yet.
set -eu
temporal operator cluster health
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" ||
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 30d
