export const TASK_QUEUE = 'tillflow';

/** How the processes reach the engine. */
export const ENGINE = { TEMPORAL_ADDRESS: 'engine:7233', TEMPORAL_TASK_QUEUE: TASK_QUEUE } as const;
