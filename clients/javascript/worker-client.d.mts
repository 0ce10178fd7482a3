// Types of worker-client.mjs: its errors are plain ones with `name`, `code` and `status`.
export { Client, type Numbers, type Prediction, type Progress, type Result } from './client.mjs';
