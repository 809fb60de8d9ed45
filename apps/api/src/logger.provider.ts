/** The token under which the program's pino logger is injected. */
export const LOGGER = Symbol('logger');
