"""Which pods which selectors select, kept up to date pod by pod instead of searched for."""

from collections.abc import Iterable

from drydock.actors.machinery.objects import Key, Object, key_of, labels_of
from hawser.fitting.selectors import Matcher


class Selection:
    """Pods selected by namespaced objects such as Services and budgets. Order is that of arrival: deterministic."""

    def __init__(self) -> None:
        self._matchers: dict[str, dict[Key, Matcher]] = {}  # namespace -> selecting object -> matcher
        self._members: dict[Key, dict[Key, None]] = {}  # selecting object -> pods
        self._selectors: dict[Key, dict[Key, None]] = {}  # pod -> selecting objects

    def select(self, selecting: Key, matcher: Matcher, pods: Iterable[Object]) -> None:
        """A selecting object appeared or changed; `pods` are those of its namespace."""
        self.drop(selecting)
        self._matchers.setdefault(selecting[0], {})[selecting] = matcher
        members = self._members[selecting] = {}
        for pod in pods:
            if matcher(labels_of(pod)):
                members[key_of(pod)] = None
                self._selectors.setdefault(key_of(pod), {})[selecting] = None

    def drop(self, selecting: Key) -> None:
        """A selecting object is gone."""
        self._matchers.get(selecting[0], {}).pop(selecting, None)
        for pod in self._members.pop(selecting, {}):
            self._selectors[pod].pop(selecting, None)

    def place(self, pod: Object) -> list[Key]:
        """A pod appeared or changed: who selects it now or did before."""
        key, labels = key_of(pod), labels_of(pod)
        before = self._selectors.get(key, {})
        after = {selecting: None for selecting, matcher in self._matchers.get(key[0], {}).items() if matcher(labels)}
        for selecting in before:
            if selecting not in after:
                self._members[selecting].pop(key, None)
        for selecting in after:
            self._members[selecting][key] = None
        if after or before:
            self._selectors[key] = after
        return [*after, *(selecting for selecting in before if selecting not in after)]

    def remove(self, pod: Key) -> list[Key]:
        """A pod is gone: who selected it."""
        selectors = list(self._selectors.pop(pod, {}))
        for selecting in selectors:
            self._members[selecting].pop(pod, None)
        return selectors

    def selectors_of(self, pod: Key) -> list[Key]:
        return list(self._selectors.get(pod, ()))

    def selects(self, selecting: Key, pod: Key) -> bool:
        return pod in self._members.get(selecting, ())

    def count(self, selecting: Key) -> int:
        return len(self._members.get(selecting, ()))

    def members(self, selecting: Key) -> list[Key]:
        """The pods an object selects."""
        return list(self._members.get(selecting, ()))
