/** Ends a message about a file of this package that is not beside its code. */
export const ifBundled =
  '; if the program is bundled, leave store-orders out of the bundle: see "Bundlers" in examples/README.md';
