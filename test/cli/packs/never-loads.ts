/** Says that it is being loaded, and goes on being loaded. */
console.log('loading');
await new Promise(() => setInterval(() => undefined, 1_000));
export default null;
