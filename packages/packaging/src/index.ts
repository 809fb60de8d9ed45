export { bundle, type Bundle } from './bundle.js';
export { compile, CONSUMER_TSCONFIG, PackedPackage } from './packed-package.js';
export { program, type Program } from './programs.js';
