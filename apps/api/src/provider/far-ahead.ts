/** After every record that there can be: the provider's clock may be ahead of ours. ISO 8601 UTC. */
export const FAR_AHEAD = '9999-01-01T00:00:00.000Z';
