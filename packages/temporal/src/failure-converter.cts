import common = require('@temporalio/common');

/**
 * Puts messages and stacks of failures where payloads are, so that they are encrypted too. A CommonJS module of its
 * own, because Temporal loads it by its path: into this process, and into the bundle of the workflows.
 */
const failureConverter = new common.DefaultFailureConverter({ encodeCommonAttributes: true });

export = { failureConverter };
