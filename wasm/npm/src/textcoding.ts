// Some test environments, such as Jest's jsdom, hide these globals of Node.
export { TextDecoder, TextEncoder } from 'node:util';
