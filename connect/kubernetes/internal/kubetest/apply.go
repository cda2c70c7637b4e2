package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// Manifests returns the objects of a file of YAML.
func Manifests(text []byte) ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		switch err := d.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("object %d: %w", len(list), err)
		case o.Object != nil:
			list = append(list, o)
		}
	}
}

// Apply applies objects in their order, as kubectl apply --server-side does; with dryRun, as with
// --dry-run=server. Objects without a namespace go to default. A field that the API server does not know is
// an error.
func (c *Cluster) Apply(ctx context.Context, dryRun bool, objects ...*unstructured.Unstructured) error {
	config := c.Config()
	config.ContentType, config.AcceptContentTypes = "", ""
	cl, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	options := metav1.PatchOptions{FieldManager: "kubetest", FieldValidation: metav1.FieldValidationStrict}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	for _, o := range objects {
		kind := o.GroupVersionKind()
		m, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind.Kind, o.GetName(), err)
		}
		var r dynamic.ResourceInterface = cl.Resource(m.Resource)
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			namespace := o.GetNamespace()
			if namespace == "" {
				namespace = metav1.NamespaceDefault
			}
			r = cl.Resource(m.Resource).Namespace(namespace)
		}
		text, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := r.Patch(ctx, o.GetName(), "application/apply-patch+yaml", text, options); err != nil {
			return fmt.Errorf("%s %s: %w", kind.Kind, o.GetName(), err)
		}
	}
	return nil
}
