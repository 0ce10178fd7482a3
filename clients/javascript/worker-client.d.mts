// Types of worker-client.mjs: its errors are plain ones with `name`, `code` and `status`.
export { Client, type Asked, type Found, type Index, type Numbers, type Prediction, type Progress, type Result, type Search } from './client.mjs';
