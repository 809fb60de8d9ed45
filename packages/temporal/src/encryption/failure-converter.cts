import common = require('@temporalio/common');

/**
 * Moves the messages and stacks of failures into payloads, so that they are encrypted too. This is a separate CommonJS
 * module because Temporal loads it by its path, into this process and into the workflow bundle.
 */
const failureConverter = new common.DefaultFailureConverter({ encodeCommonAttributes: true });

export = { failureConverter };
