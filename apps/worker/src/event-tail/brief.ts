const MAX_CHARS = 200;

/** The memo of the tail stays small, whatever the provider says. */
export function brief(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
