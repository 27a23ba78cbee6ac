/** The same client; each call of it is told first. */
export function counted<Verbs extends object>(verbs: Verbs, onCall: () => void): Verbs {
  return new Proxy(verbs, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === "object" && value !== null) return counted(value, onCall);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        onCall();
        return Reflect.apply(value, target, args);
      };
    },
  });
}
