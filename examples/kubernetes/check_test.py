#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the manifests in every place, one at a time: each break must be found."""
import copy
import pathlib
import unittest

import check

HERE = pathlib.Path(__file__).resolve().parent


def manifests():
    return [document for path in sorted(HERE.glob("*.yaml"))
            for document in check.documents(path.read_text(encoding="utf-8"))]


def places(value, path=()):
    """Paths of every key and entry."""
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


class Manifests(unittest.TestCase):
    def setUp(self):
        self.good = manifests()

    def breaks(self, path, change):
        """Whether a change at the parent of `path` is found."""
        changed = copy.deepcopy(self.good)
        change(at(changed, path[:-1]), path[-1])
        return check.check(changed) != []

    def free(self, path):
        """Whether keys and values there are the user's: labels, data, quantities."""
        return {"labels", "annotations", "data", "matchLabels"} & set(path[1:]) or \
            path[1:3] == ("spec", "selector")

    def test_they_are_well(self):
        self.assertEqual(check.check(self.good), [])
        kinds = {document["kind"] for document in self.good}
        self.assertEqual(kinds, {"PersistentVolumeClaim", "Deployment", "Service", "ConfigMap",
                                 "HorizontalPodAutoscaler", "InferencePool", "HTTPRoute"})

    def test_misspelt_fields_are_found(self):
        def misspell(parent, key):
            parent[key + "x"] = parent.pop(key)
        tried = 0
        for path in places(self.good):
            if isinstance(path[-1], str) and not self.free(path) \
                    and path[-2] not in ("requests", "limits"):
                self.assertTrue(self.breaks(path, misspell), path)
                tried += 1
        self.assertGreater(tried, 100)

    def test_values_of_another_type_are_found(self):
        def distort(parent, key):
            parent[key] = {"x": 1} if not isinstance(parent[key], dict) else 7
        tried = 0
        for path in places(self.good):
            if len(path) > 1:
                self.assertTrue(self.breaks(path, distort), path)
                tried += 1
        self.assertGreater(tried, 150)

    def test_empty_lists_are_found(self):
        for path in places(self.good):
            if isinstance(at(self.good, path), list):
                self.assertTrue(self.breaks(path, lambda parent, key: parent[key].clear()), path)

    def test_names_that_mean_nothing_are_found(self):
        def rename(parent, key):
            parent[key] = "other"
        tried = 0
        for index, document in enumerate(self.good):
            for path in places(document):
                full = (index, *path)
                name = path[-1]
                of_another = name in ("claimName", "targetPort") \
                    or path[-2:] == ("scaleTargetRef", "name") \
                    or ("backendRefs" in path and name in ("kind", "name")) \
                    or ("volumeMounts" in path and name == "name") \
                    or path[-2:] == ("httpGet", "port") \
                    or path[-2:] == ("metric", "name") \
                    or path[-2:] == ("matchLabels", "app") or path == ("spec", "selector", "app")
                if of_another:
                    self.assertTrue(self.breaks(full, rename), full)
                    tried += 1
        self.assertGreater(tried, 12)
        pool = next(i for i, d in enumerate(self.good) if d["kind"] == "InferencePool")
        self.assertTrue(self.breaks((pool, "spec", "targetPorts", 0, "number"),
                                    lambda parent, key: parent.update(number=8001)))

    def test_probes_and_draining_are_the_servers(self):
        deployment = next(d for d in self.good if d["kind"] == "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        server = pod["containers"][0]
        self.assertEqual(server["readinessProbe"]["httpGet"]["path"], "/ready")
        self.assertEqual(server["livenessProbe"]["httpGet"]["path"], "/health")
        self.assertGreater(pod["terminationGracePeriodSeconds"],
                           server["lifecycle"]["preStop"]["sleep"]["seconds"])
        port = server["command"][server["command"].index("--port") + 1]
        self.assertEqual(port, str(server["ports"][0]["containerPort"]))
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual(annotations["prometheus.io/port"], port)


class Yaml(unittest.TestCase):
    def test_reads_what_manifests_need(self):
        text = ("# c\na: 1\nb:\n- x\n- \"2\"\nc:\n  - k: v\n    l: true\n\n  - k: 1.2.3.4\n"
                "d: |\n  one:\n    two\n\n  # three\n\ne: 10Gi\n---\nf: -1\n")
        self.assertEqual(check.documents(text), [
            {"a": 1, "b": ["x", "2"], "c": [{"k": "v", "l": True}, {"k": "1.2.3.4"}],
             "d": "one:\n  two\n\n# three\n", "e": "10Gi"}, {"f": -1}])

    def test_refuses_the_rest(self):
        for text in ("a: [1]", "a: {b: 1}", "a: 'x'", "a: &x 1", "a: *x", "a: !t 1", "a: >\n  x",
                     "a: yes", "a: 1.5", "a: 0x1\n\tb: 1", "a: x: y", "a: x # c", "a:\nb: 1",
                     "a: 1\na: 2", "a: 1\n  b: 2", "a", 'a: "\\n"', "a: ~", "a: 010"):
            with self.assertRaises(check.Refused, msg=text):
                check.documents(text)


if __name__ == "__main__":
    unittest.main()
