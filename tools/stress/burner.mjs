// Takes one core until its parent is gone.
process.on('disconnect', () => process.exit());

function burn() {
  const until = Date.now() + 50;
  while (Date.now() < until);
  setImmediate(burn);
}
burn();
