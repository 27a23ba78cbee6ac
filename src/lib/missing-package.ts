/** Whether an import failed because the package is not installed. Node has a code for it; in a bundle it is the bundler's own error. */
export function isMissingPackage(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  const isToldByVite = error.message.startsWith(`Could not resolve "${name}"`);
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND" || isToldByVite;
}
