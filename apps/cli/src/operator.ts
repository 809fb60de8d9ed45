import { userInfo } from 'node:os';

/** Who runs the command line, as the timeline and Temporal's history show it: `cli:` and the user of the machine. */
export function operator(): string {
  return `cli:${userName()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
